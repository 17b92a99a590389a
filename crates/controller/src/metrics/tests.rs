//! The text of `/metrics`, read back by a small reader of our own that is as strict as the format.
