//! Builds protobuf fields by hand.

/// A length-delimited field.
pub(crate) fn field(number: u32, content: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    prost::encoding::encode_varint(u64::from(number << 3 | 2), &mut bytes);
    prost::encoding::encode_varint(content.len() as u64, &mut bytes);
    bytes.extend(content);
    bytes
}

/// An integer field.
pub(crate) fn integer(number: u32, value: i64) -> Vec<u8> {
    let mut bytes = Vec::new();
    prost::encoding::encode_varint(u64::from(number << 3), &mut bytes);
    prost::encoding::encode_varint(value.cast_unsigned(), &mut bytes);
    bytes
}
