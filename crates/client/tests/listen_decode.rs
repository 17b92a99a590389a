//! Decoding: protobuf and JSON give equal facts, odd values do what they should, and no bytes do harm.

mod listen_decode {
    mod differential;
    mod edges;
    mod mangled;
    mod sample;
}
