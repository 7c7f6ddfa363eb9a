// expect: auto_retry_for_has_more_than_64_codes
// given: 65
#include <dogged/worker.hpp>

constexpr dogged::Task<int> count{"count"};

void handle(dogged::Context&, const int&) {}

TASK_REGISTER(handle, count,
              .auto_retry_for = {"C1",  "C2",  "C3",  "C4",  "C5",  "C6",  "C7",  "C8",  "C9",  "C10", "C11",
                                 "C12", "C13", "C14", "C15", "C16", "C17", "C18", "C19", "C20", "C21", "C22",
                                 "C23", "C24", "C25", "C26", "C27", "C28", "C29", "C30", "C31", "C32", "C33",
                                 "C34", "C35", "C36", "C37", "C38", "C39", "C40", "C41", "C42", "C43", "C44",
                                 "C45", "C46", "C47", "C48", "C49", "C50", "C51", "C52", "C53", "C54", "C55",
                                 "C56", "C57", "C58", "C59", "C60", "C61", "C62", "C63", "C64", "C65"});
