-- Names the roles that may use the table, view, sequence or function @object, the role with the fewest rights first.
-- roles: null if this login has one of these roles, or if there are none. is_owners_alone: only the schema's owner may
-- use it. owner: the schema's owner.
-- gives: roles text?, login text, is_owners_alone boolean, owner text
with granted as (
  select distinct s.role_prefix || '_' || r.role as role, r.rank
    from dogged.settings s, dogged.rights g
   cross join lateral (select role, array_position(array['producer', 'viewer', 'operator', 'worker'], role) as rank
                         from unnest(g.roles) as named (role)) r
   where g.object = @object::text
)
select case when not bool_or(pg_has_role(m.oid, 'usage')) then string_agg(quote_ident(m.rolname), ' or ' order by granted.rank) end
         as roles,
       quote_ident(current_user) as login,
       exists (select from dogged.rights g where g.object = @object) and not exists (select from granted) as is_owners_alone,
       (select quote_ident(pg_get_userbyid(c.relowner)) from pg_class c where c.oid = 'dogged.settings'::regclass) as owner
  from granted
  join pg_roles m on m.rolname = granted.role
