-- Pages that were written long ago are on disk; without this, the first to need their buffers writes them.
checkpoint
