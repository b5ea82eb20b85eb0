//! Claims about manifest.
