//! A flag that ends whatever git is doing for us: the engine's own, so that one signal ends both.

pub use stoker_sync::Cancel;
