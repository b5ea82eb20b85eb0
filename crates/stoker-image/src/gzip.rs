//! gzip, as small as deflate gets: images and archives are downloaded more often than written.

use libdeflater::{CompressionLvl, Compressor};

/// Compresses. The header has neither a name nor a time, so equal bytes give equal bytes.
pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut compressor = Compressor::new(CompressionLvl::best());
    let mut compressed = vec![0; compressor.gzip_compress_bound(bytes.len())];
    let length = compressor.gzip_compress(bytes, &mut compressed);
    compressed.truncate(length.expect("the buffer has the length that is always enough"));
    compressed
}
