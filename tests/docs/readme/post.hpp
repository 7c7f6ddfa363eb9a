// README calls this "your HTTP client".
#pragma once

#include <string>

#include <dogged/task.hpp>

int post(const std::string& url, const nlohmann::json& body, dogged::Context::Clock::time_point deadline);
