-- For how many days tasks are kept when they have ended.
select s.keep_done_days, s.keep_failed_days from dogged.settings s
