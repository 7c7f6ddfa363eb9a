// pgmq whose messages are archived when they are done: see pgmq.mjs.
import { pgmq } from "./pgmq.mjs";

export const {
  settings, retry_delay, version, install, uninstall, bulk_enqueuer, single_enqueuer, vacuum, is_done, count, verify, prepare_worker,
} = pgmq("archive");
