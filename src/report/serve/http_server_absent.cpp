#include "core/error_format.h"
#include "report/serve/http_server.h"

namespace l2gcn {

HttpServer::HttpServer(const std::string&, uint16_t, const std::vector<std::string>&, const HttpLimits&) {
  ThrowUsage(
      "serve needs libmicrohttpd, which this build does not have; install libmicrohttpd-dev and build again, "
      "or write the report to a file with l2gcn report");
}

std::string HttpServer::url() const { return ""; }

void HttpServer::Run(const Context&, const Handler&, const std::function<bool()>&) {}

}  // namespace l2gcn
