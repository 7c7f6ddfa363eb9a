-- Moves up to @most tasks from queue @from_queue to queue @to_queue, only those with the name @name (null: any name).
-- gives: moved bigint
select dogged.move_queue(@from_queue::text, @to_queue::text, @name::text?, @most::int) as moved
