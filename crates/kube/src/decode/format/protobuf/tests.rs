//! Tests that the fields of a message end where they should, or are errors.

use super::*;

#[test]
fn varints_end_at_64_bits() {
    assert_eq!(varint(&[0x96, 0x01, 9]).unwrap(), Some((150, 2)));
    let mut longest = [0xff; 10];
    longest[9] = 1;
    assert_eq!(varint(&longest).unwrap(), Some((u64::MAX, 10)));
    longest[9] = 2;
    assert!(varint(&longest).is_err());
    assert!(varint(&[0x80; 11]).is_err());
    assert_eq!(varint(&[0x80; 9]).unwrap(), None);
    assert_eq!(varint(&[]).unwrap(), None);
}

#[test]
fn a_length_beyond_the_end_is_an_error_and_ends_the_walk() {
    let mut fields = ProtobufFields::of(&[0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f, 1, 2]);
    assert!(fields.next().is_some_and(|field| field.is_err()));
    assert!(fields.next().is_none());
}

#[test]
fn groups_and_field_zero_are_refused() {
    assert!(head(&[0x0b]).is_err());
    assert!(head(&[0x0c]).is_err());
    assert!(head(&[0x00, 0x01]).is_err());
    assert!(head(&[0x0f]).is_err());
}
