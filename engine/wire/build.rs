//! Compiles the protobuf files of `proto/` to messages and tonic stubs, without protoc.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=proto");
    let files = protox::compile(
        ["management.proto", "control_plane.proto", "collection.proto", "northbound.proto"],
        ["proto"],
    )?;
    tonic_prost_build::configure()
        // Clients and servers get their channel from outside: nothing in this crate opens a socket.
        .build_transport(false)
        .codec_path("crate::codec::WholeCodec")
        .compile_fds(files)?;
    Ok(())
}
