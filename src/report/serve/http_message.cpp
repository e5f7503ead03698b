#include "report/serve/http_message.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace l2gcn {
namespace {

std::string LowerCaseHeader(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// "name:80" → "name", "[::1]:80" → "[::1]"; "" where the port is no number.
std::string WithoutPort(const std::string& host) {
  const size_t bracket = host.rfind(']');
  const size_t colon = host.find(':', bracket == std::string::npos ? 0 : bracket);
  if (colon == std::string::npos) return host;
  const auto digit = [](unsigned char c) { return std::isdigit(c) != 0; };
  return std::all_of(host.begin() + static_cast<ptrdiff_t>(colon) + 1, host.end(), digit)
             ? host.substr(0, colon)
             : "";
}

bool IsAddress(const std::string& host) {
  in6_addr parsed;
  if (host.size() > 2 && host.front() == '[' && host.back() == ']')
    return inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &parsed) == 1;
  return inet_pton(AF_INET, host.c_str(), &parsed) == 1;
}

// The value of a header in lower case; "" where there is none.
std::string ValueOf(const HttpRequest& request, const char* name) {
  const auto found = request.headers.find(name);
  return found == request.headers.end() ? "" : LowerCaseHeader(found->second);
}

}  // namespace

HttpResponse TextResponse(int status, std::string text) {
  return {.status = status, .body = std::make_shared<const std::string>(std::move(text))};
}

std::optional<HttpResponse> RefusedRequest(const HttpRequest& request,
                                           const std::vector<std::string>& names) {
  // Two hosts in one request would pass the check with one and be routed by the other.
  if (request.headers.count("host") != 1 || request.headers.count("origin") > 1)
    return TextResponse(400, "expected one Host header and at most one Origin\n");
  const std::string host = ValueOf(request, "host"), name = WithoutPort(host);
  if (name != "localhost" && !IsAddress(name) && std::find(names.begin(), names.end(), name) == names.end()) {
    return TextResponse(403,
                        "this server answers to IP addresses and localhost; start it with --host NAME to "
                        "open it under another name\n");
  }
  const std::string origin = ValueOf(request, "origin");
  const bool foreign = !origin.empty() && origin != "http://" + host && origin != "https://" + host;
  if (foreign || ValueOf(request, "sec-fetch-site") == "cross-site")
    return TextResponse(403, "this server does not answer requests that come from other sites\n");
  return std::nullopt;
}

}  // namespace l2gcn
