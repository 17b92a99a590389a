//! Requests over real loopback sockets, and slow clients in virtual time.
