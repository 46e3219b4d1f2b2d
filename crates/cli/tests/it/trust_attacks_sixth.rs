//! Attacks on trust, missions and the terminal, sixth round. `docs/dev/audits.md` lists the finding of
//! each test.
