//! Tests of lint in the program.
