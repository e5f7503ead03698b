#include "data/json_maps.h"

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <unordered_set>

#include "core/error_format.h"
#include "core/files.h"
#include "data/labels.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

using SortedJson = nlohmann::json;  // maps of many names: found by search, not by walking

// Base of the event readers: numbers come as one call, everything not expected is refused with its place.
class Events : public nlohmann::json_sax<SortedJson> {
 public:
  explicit Events(const fs::path& path) : where_(path.string()) {}
  virtual void Number(int64_t value) = 0;
  virtual void Text(const std::string&) { Refuse("a string"); }
  virtual void Flag(bool) { Refuse("true or false"); }

  bool null() override { return true; }
  bool boolean(bool value) override {
    Flag(value);
    return true;
  }
  bool number_integer(int64_t value) override {
    Number(value);
    return true;
  }
  bool number_unsigned(uint64_t value) override {
    if (value > static_cast<uint64_t>(INT64_MAX)) Refuse("a number past 64 bits");
    Number(static_cast<int64_t>(value));
    return true;
  }
  bool number_float(double value, const std::string&) override {
    if (value != std::trunc(value) || std::abs(value) > 1e18) Refuse("a fraction");
    Number(static_cast<int64_t>(value));
    return true;
  }
  bool string(std::string& value) override {
    Text(value);
    return true;
  }
  bool binary(SortedJson::binary_t&) override { return false; }
  bool parse_error(size_t position, const std::string&, const SortedJson::exception&) override {
    ThrowInput("{}: no valid JSON at byte {}", where_, position);
  }
  void Parse() {
    const auto file = MappedFile::Open(where_);
    const std::string_view text = file->text();
    SortedJson::sax_parse(text.begin(), text.end(), this);
  }

 protected:
  [[noreturn]] void Refuse(const std::string& found) const {
    ThrowInput("{}: near '{}': {} is not expected there", where_, key_, found);
  }
  const std::string where_;
  std::string key_;
};

// {"key": value or [values], …}
class FlatMapEvents : public Events {
 public:
  using Events::Events;
  std::function<void(const std::string& key)> on_key;
  std::function<void(int64_t value)> on_number;
  std::function<void()> on_end;

  void Number(int64_t value) override {
    if (depth_ == 0) Refuse("a number");
    on_number(value);
    if (depth_ == 1) on_end();
  }
  bool start_object(size_t) override {
    if (depth_++ != 0) Refuse("an object");
    return true;
  }
  bool end_object() override {
    --depth_;
    return true;
  }
  bool key(std::string& name) override {
    key_ = name;
    if (!seen_.insert(name).second) ThrowInput("{}: '{}' stands twice", where_, name);
    on_key(name);
    return true;
  }
  bool start_array(size_t) override {
    if (depth_++ != 1) Refuse("a list");
    return true;
  }
  bool end_array() override {
    --depth_;
    on_end();
    return true;
  }

 private:
  int depth_ = 0;
  std::unordered_set<std::string> seen_;
};

// {"nodes": [{"id": …, "val": …, "test": …}, …], "links": [{"source": …, "target": …}, …], …}; all else is
// skipped.
class NodeLinkEvents : public Events {
 public:
  explicit NodeLinkEvents(const fs::path& path, NodeLinkGraph& graph) : Events(path), graph_(graph) {}
  std::vector<std::string> source, target;  // (links) as text
  bool links_are_text = false;

  void Number(int64_t value) override { Take(std::to_string(value), false); }
  void Text(const std::string& value) override { Take(value, true); }
  void Flag(bool value) override {
    if (depth_ != 3 || section_ != 1 || !value || (key_ != "val" && key_ != "test")) return;
    if (role_ != static_cast<uint8_t>(Role::kTrain)) Refuse("a node that is for validation and for test");
    role_ = static_cast<uint8_t>(key_ == "val" ? Role::kVal : Role::kTest);
  }
  bool start_object(size_t) override {
    ++depth_;
    if (depth_ == 3) {
      id_.clear();
      source_.clear();
      target_.clear();
      role_ = static_cast<uint8_t>(Role::kTrain);
    }
    return true;
  }
  bool end_object() override {
    if (depth_ == 3 && section_ == 1) {
      if (id_.empty()) id_ = std::to_string(graph_.ids.size());
      graph_.ids.push_back(id_);
      graph_.roles.push_back(role_);
    }
    if (depth_ == 3 && section_ == 2) {
      if (source_.empty() || target_.empty()) Refuse("a link without source and target");
      source.push_back(source_);
      target.push_back(target_);
    }
    --depth_;
    return true;
  }
  bool start_array(size_t) override {
    ++depth_;
    return true;
  }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool key(std::string& name) override {
    key_ = name;
    if (depth_ == 1) section_ = name == "nodes" ? 1 : name == "links" || name == "edges" ? 2 : 0;
    return true;
  }

 private:
  void Take(const std::string& value, bool text) {
    if (depth_ != 3) return;
    if (section_ == 1 && key_ == "id") {
      id_ = value;
      graph_.ids_are_text = graph_.ids_are_text || text;
    }
    if (section_ == 2 && (key_ == "source" || key_ == "target")) {
      (key_ == "source" ? source_ : target_) = value;
      links_are_text = links_are_text || text;
    }
  }
  NodeLinkGraph& graph_;
  int depth_ = 0;
  int section_ = 0;  // 1 nodes, 2 links
  std::string id_, source_, target_;
  uint8_t role_ = 0;
};

}  // namespace

ClassMap ReadClassMap(const fs::path& path) {
  ClassMap map;
  FlatMapEvents events(path);
  size_t row_start = 0;
  events.on_key = [&](const std::string& key) {
    map.ids.push_back(key);
    row_start = map.values.size();
  };
  events.on_number = [&](int64_t value) { map.values.push_back(value); };
  events.on_end = [&] {
    const size_t width = map.values.size() - row_start;
    if (map.width == 0) map.width = width;
    if (width != map.width || width == 0) {
      ThrowInput("{}: node {} has {} labels, the others {}", path.string(), map.ids.back(), width, map.width);
    }
  };
  events.Parse();
  if (map.values.size() != map.ids.size() * map.width)
    ThrowInput("{}: expected {{\"node\": class, …}}", path.string());
  for (size_t i = 0; i < map.values.size(); ++i) {
    if (map.values[i] < 0) {
      ThrowInput("{}: node {} has the class {}; classes count from 0, and a node without one is left out",
                 path.string(), map.ids[i / map.width], map.values[i]);
    }
  }
  return map;
}

std::vector<std::pair<std::string, uint64_t>> ReadIdMap(const fs::path& path) {
  std::vector<std::pair<std::string, uint64_t>> map;
  FlatMapEvents events(path);
  events.on_key = [&](const std::string& key) { map.emplace_back(key, UINT64_MAX); };
  events.on_number = [&](int64_t value) {
    if (value < 0) ThrowInput("{}: node {} has row {}", path.string(), map.back().first, value);
    map.back().second = static_cast<uint64_t>(value);
  };
  events.on_end = [] {};
  events.Parse();
  return map;
}

std::vector<std::pair<std::string, std::vector<uint64_t>>> ReadIndexLists(const fs::path& path) {
  std::vector<std::pair<std::string, std::vector<uint64_t>>> lists;
  FlatMapEvents events(path);
  events.on_key = [&](const std::string& key) { lists.emplace_back(key, std::vector<uint64_t>()); };
  events.on_number = [&](int64_t value) {
    if (value < 0) ThrowInput("{}: node {} in list {}", path.string(), value, lists.back().first);
    lists.back().second.push_back(static_cast<uint64_t>(value));
  };
  events.on_end = [] {};
  events.Parse();
  return lists;
}

NodeLinkGraph ReadNodeLink(const fs::path& path) {
  NodeLinkGraph graph;
  NodeLinkEvents events(path, graph);
  events.Parse();
  if (graph.ids.empty())
    ThrowInput("{}: names no nodes; expected {{\"nodes\": [{{\"id\": …}}, …]}}", path.string());
  std::unordered_map<std::string_view, uint64_t> position_of;
  for (size_t i = 0; i < graph.ids.size(); ++i) {
    if (!position_of.emplace(graph.ids[i], i).second)
      ThrowInput("{}: node {} stands twice", path.string(), graph.ids[i]);
  }
  // networkx 1.x writes positions, 2.x ids. Numbers beside text ids are positions; where both readings are
  // possible and differ, nothing can tell which was meant.
  const bool positions = graph.ids_are_text && !events.links_are_text;
  bool identity = !graph.ids_are_text;
  for (size_t i = 0; identity && i < graph.ids.size(); ++i) identity = graph.ids[i] == std::to_string(i);
  bool by_id = true, by_position = true;
  const auto as_position = [&](const std::string& end) {
    uint64_t value = UINT64_MAX;
    const auto [last, error] = std::from_chars(end.data(), end.data() + end.size(), value);
    return error == std::errc() && last == end.data() + end.size() && value < graph.ids.size() ? value
                                                                                               : UINT64_MAX;
  };
  for (const std::vector<std::string>* ends : {&events.source, &events.target}) {
    for (const std::string& end : *ends) {
      by_id = by_id && position_of.contains(end);
      by_position = by_position && as_position(end) != UINT64_MAX;
    }
  }
  if (!positions && !identity && by_id && by_position && !events.source.empty()) {
    ThrowInput("{}: its links could mean ids or positions, and the two differ; renumber the nodes 0, 1, 2, …",
               path.string());
  }
  if (positions ? !by_position : !by_id && !by_position) {
    ThrowInput("{}: a link names a node that does not exist", path.string());
  }
  const bool use_ids = !positions && by_id;
  const auto resolve = [&](std::vector<std::string>& ends, std::vector<uint64_t>& out) {
    out.reserve(ends.size());
    for (const std::string& end : ends) out.push_back(use_ids ? position_of.at(end) : as_position(end));
    std::vector<std::string>().swap(ends);
  };
  resolve(events.source, graph.source);
  resolve(events.target, graph.target);
  return graph;
}

Labels LabelsFromClassMap(const ClassMap& map, uint32_t nodes,
                          const std::function<int64_t(const std::string&)>& node_of,
                          std::vector<std::string>& class_names, const std::string& where) {
  Labels labels;
  std::vector<int64_t> numbers(map.width == 1 ? nodes : 0, -1);
  if (map.width > 1) {
    labels.multilabel = true;
    labels.classes = static_cast<uint32_t>(map.width);
    labels.matrix = Array<uint8_t>::Zeros(size_t{nodes} * map.width);
    labels.labelled = Array<uint8_t>::Zeros(nodes);
  }
  size_t labelled = 0;
  for (size_t row = 0; row < map.ids.size(); ++row) {
    const int64_t node = node_of(map.ids[row]);
    if (node < 0) continue;
    ++labelled;
    if (map.width == 1) {
      numbers[static_cast<size_t>(node)] = map.values[row];
      continue;
    }
    labels.labelled.mutable_data()[node] = 1;
    for (size_t c = 0; c < map.width; ++c) {
      const int64_t value = map.values[row * map.width + c];
      if (value != 0 && value != 1)
        ThrowInput("{}: label {} of node {} is {}; expected 0 or 1", where, c, map.ids[row], value);
      labels.matrix.mutable_data()[static_cast<size_t>(node) * map.width + c] = static_cast<uint8_t>(value);
    }
  }
  if (map.width == 1) return LabelsFromNumbers(numbers, class_names);
  if (map.width == 0) {
    labels.classes_of = Array<int32_t>::Filled(nodes, -1);
  } else if (labelled == nodes) {
    labels.labelled = {};
  }
  return labels;
}

}  // namespace l2gcn
