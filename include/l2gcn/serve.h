// The report of a run over HTTP, live while the run goes on.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "l2gcn/report.h"

namespace l2gcn {

struct ServeOptions {
  std::string address = "127.0.0.1";  // an address of this machine; others than loopback must be asked for
  uint16_t port = 0;                  // 0: any free one
  ReportOptions report;
  // Told once the page can be fetched.
  std::function<void(const std::string& url)> on_ready;
};

// Serves `run`, which may still be in the making, until the context is cancelled. Requests that name another
// host, or come from a page of another origin, are refused. Throws Error(kInput) if there is neither a run
// nor one in the making, Error(kUsage) if the address or port cannot be used.
void ServeRun(const Context& context, const std::string& run, const ServeOptions& options);

}  // namespace l2gcn
