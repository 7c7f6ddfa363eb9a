-- The limits that workers enforce, and the id of this installation.
-- gives: max_args_bytes int, max_result_bytes int, max_error_message_bytes int, installation text
select max_args_bytes, max_result_bytes, max_error_message_bytes, installation::text as installation from dogged.settings
