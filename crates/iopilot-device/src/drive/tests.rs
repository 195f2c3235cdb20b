//! What each parameter does.
