//! Container images from files, without a container engine.
//!
//! [`Image`] collects files, programs with their libraries, links and settings; [`Image::save`]
//! writes a docker-archive that `docker load` and `ctr image import` accept. [`recipe`] has the
//! images of this project.
//!
//! # Promises
//! - Equal input gives equal bytes: entries are sorted and carry no times.
//! - A program comes with every library that it links to, or the build of the image fails.

mod archive;
mod digest;
mod error;
mod gzip;
mod image;
mod library;
mod machine;
pub mod recipe;

pub use archive::{Compression, Manifest};
pub use digest::sha256;
pub use error::Error;
pub use gzip::gzip;
pub use image::Image;
pub use machine::{Architecture, Distribution};
