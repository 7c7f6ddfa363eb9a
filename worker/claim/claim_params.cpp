// See claim_params.hpp.
#include "claim/claim_params.hpp"

namespace dogged::runtime {

db::Params claim_params(std::int64_t worker_id, const std::vector<QueueClaim>& claims,
                        const std::vector<std::string>& names, std::int64_t claim_session,
                        const std::vector<std::int64_t>& versions) {
  std::vector<std::string> queues;
  std::vector<std::int64_t> how_many, of_all, numbers, afters, uptos;
  for (const QueueClaim& claim : claims) {
    queues.push_back(claim.queue);
    how_many.push_back(static_cast<std::int64_t>(claim.how_many));
    of_all.push_back(claim.of_all ? 1 : 0);
    for (const Watermarks::Range& range : claim.ranges) {
      numbers.push_back(static_cast<std::int64_t>(queues.size()));
      afters.push_back(range.after);
      uptos.push_back(range.upto);
    }
  }
  db::Params params;
  params.add(worker_id)
      .add(queues)
      .add(how_many)
      .add(names)
      .add(numbers)
      .add(afters)
      .add(uptos)
      .add(claim_session)
      .add(of_all)
      .add(versions);
  return params;
}

db::Params look_params(const std::vector<QueueClaim>& for_ready, const std::vector<std::string>& names,
                       const std::vector<std::string>& queues, const std::vector<std::int64_t>& versions) {
  std::vector<std::string> ready_queues;
  std::vector<std::int64_t> afters, uptos;
  for (const QueueClaim& one : for_ready) {
    for (const Watermarks::Range& range : one.ranges) {
      ready_queues.push_back(one.queue);
      afters.push_back(range.after);
      uptos.push_back(range.upto);
    }
  }
  return db::Params{}.add(ready_queues).add(afters).add(uptos).add(names).add(queues).add(versions);
}

}  // namespace dogged::runtime
