-- The roles that may use the table, view, sequence or function $1, of those that this login has not; null where there are none.
select string_agg(quote_ident(may.role), ' or ' order by may.role) as roles, quote_ident(current_user) as login
  from (select distinct s.role_prefix || '_' || granted.role as role
          from dogged.settings s, dogged.rights r, unnest(r.roles) as granted (role)
         where r.object = $1) may
 where case when to_regrole(may.role) is not null then not pg_has_role(may.role, 'usage') end
