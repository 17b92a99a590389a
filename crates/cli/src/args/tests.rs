//! Flags, variables and defaults, through the same door as the program.
