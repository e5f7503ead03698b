#include "data/catalog.h"

#include <algorithm>
#include <cstdlib>

#include "data/planetoid.h"
#include "data/reader.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

struct CatalogEntry {
  const char* name;
  const char* description;
};

constexpr CatalogEntry kCatalog[] = {
    {"cora", "2,708 papers, 5,278 citations, 1,433 words, 7 classes"},
    {"citeseer", "3,327 papers, 4,552 citations, 3,703 words, 6 classes"},
    {"pubmed", "19,717 papers, 44,324 citations, 500 TF-IDF features, 3 classes"},
    {"ppi", "24 protein graphs, 56,944 nodes, 818,716 edges, 50 features, 121 labels"},
    {"reddit", "232,965 posts, 11.6 M edges, 602 features, 41 classes"},
    {"amazon670k", "643,474 products, 16.8 M edges, 100 features, 32 classes"},
    {"amazon3m", "2,460,406 products, 61.9 M edges, 100 features, 38 classes"},
    {"flickr", "89,250 images, 449,878 edges, 500 features, 7 classes"},
    {"yelp", "716,847 users, 6.98 M edges, 300 features, 100 labels"},
    {"amazon_photo", "7,650 products, 119,081 edges, 745 features, 8 classes"},
    {"amazon_computers", "13,752 products, 245,861 edges, 767 features, 10 classes"},
    {"tolokers", "11,758 workers, 519,000 edges, 10 features, 2 classes"},
    {"musae-facebook", "22,470 pages, 170,823 edges, 4,714 features, 4 classes"},
    {"ogbn-arxiv", "169,343 papers, 1.16 M citations, 128 features, 40 classes"},
    {"ogbn-products", "2,449,029 products, 61.9 M edges, 100 features, 47 classes"},
};

// `folder` and the folders in it, by name.
std::vector<fs::path> WithSubfolders(const fs::path& folder) {
  std::vector<fs::path> folders;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.is_directory(error)) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  folders.insert(folders.begin(), folder);
  return folders;
}

bool HasPlanetoid(const fs::path& folder, const std::string& name) {
  const std::vector<std::string> names = PlanetoidNames(folder);
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

std::vector<fs::path> SearchFolders(const OpenOptions& options) {
  std::vector<fs::path> folders;
  const auto add = [&](const fs::path& folder) {
    std::error_code error;
    if (!folder.empty() && fs::is_directory(folder, error)) folders.push_back(folder);
  };
  add(options.data_dir);
  if (const char* variable = std::getenv("L2GCN_DATA")) add(variable);
  if (const char* home = std::getenv("HOME")) add(fs::path(home) / ".cache" / "l2gcn");
  return folders;
}

std::vector<fs::path> FindByName(const std::string& name, const OpenOptions& options) {
  std::vector<fs::path> planetoid, others;
  if (name.empty() || name.find('/') != std::string::npos) return {};
  std::error_code error;
  for (const fs::path& root : SearchFolders(options)) {
    for (const fs::path& folder : WithSubfolders(root)) {
      if (HasPlanetoid(folder, name)) planetoid.push_back(folder / ("ind." + name));
      for (const fs::path& candidate : {folder / name, folder / (name + ".npz")}) {
        if (fs::exists(candidate, error) && FindReader(candidate, "") != nullptr) others.push_back(candidate);
      }
    }
  }
  planetoid.insert(planetoid.end(), others.begin(), others.end());
  return planetoid;
}

std::string PresetRowOf(const std::string& name) {
  for (const char* known : {"cora", "citeseer", "pubmed", "ppi", "reddit", "amazon670k", "amazon3m"}) {
    if (name == known || name == std::string("synthetic:") + known) return known;
  }
  if (name == "reddit-dgl" || name == "synthetic:reddit-dgl") return "reddit";
  return "";
}

std::vector<KnownDataset> ListDatasets(const OpenOptions& options) {
  std::vector<KnownDataset> list;
  for (const CatalogEntry& entry : kCatalog) {
    KnownDataset known{entry.name, entry.description, "", ""};
    const std::vector<fs::path> found = FindByName(entry.name, options);
    if (!found.empty()) {
      known.found_at = found[0].string();
      const FormatReader* reader = FindReader(found[0], "");
      known.format = reader != nullptr ? reader->name : "";
    }
    list.push_back(std::move(known));
  }
  return list;
}

}  // namespace l2gcn
