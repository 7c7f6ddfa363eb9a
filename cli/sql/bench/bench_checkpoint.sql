-- In production, old dirty pages are already on disk. Without this checkpoint, the first session that needs their
-- buffers would write them.
-- gives: nothing
checkpoint
