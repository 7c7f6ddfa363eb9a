-- The limits that workers keep.
select max_args_bytes, max_result_bytes, max_error_message_bytes from dogged.settings
