// HTTP requests and responses as handlers see them, and the rule for which requests reach a handler.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace l2gcn {

struct HttpRequest {
  std::string method;
  std::string path;                                      // percent-decoded, without the query
  std::multimap<std::string, std::string> headers = {};  // names in lower case
  std::string body = {};
};

struct HttpResponse {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  // Shared, so that a thousand slow readers of one page cost the memory of one page.
  std::shared_ptr<const std::string> body = std::make_shared<const std::string>();
  std::vector<std::pair<std::string, std::string>> headers = {};
};

HttpResponse TextResponse(int status, std::string text);

// The answer to a request that no handler may see, or nothing. It protects a server without passwords from
// the pages of other sites, which a browser of this machine may show:
// - Host must be an IP address, localhost or one of `names` (in lower case), with any port. A site that points
//   its own name at this machine (DNS rebinding) still sends that name.
// - Origin, where there is one, must be the same host and port as Host, and Sec-Fetch-Site not cross-site.
std::optional<HttpResponse> RefusedRequest(const HttpRequest& request, const std::vector<std::string>& names);

}  // namespace l2gcn
