// Checks of a data set: the same first thing wrong with any number of threads, from memory and from files.
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "core/disk_memory.h"
#include "data/fixtures.h"
#include "l2gcn/dataset.h"
#include "l2gcn/error.h"

namespace l2gcn {
namespace {

constexpr uint32_t kNodes = 700000, kHub = 9000, kHubEntries = 600000, kFeatures = 3;

// Every node has an edge to node 1 and one to the node after next, and the hub has more than is looked at in one go.
// `values` are its features, to be written.
Dataset HubAmongMany(DiskMemory* disk, float*& values) {
  std::vector<uint64_t> indptr = {0};
  std::vector<uint32_t> indices;
  for (uint32_t i = 0; i < kNodes; ++i) {
    if (i == kHub) {
      for (uint32_t e = 0; e < kHubEntries; ++e) indices.push_back(e);
    } else {
      indices.push_back(1);
      indices.push_back(2 + (i % (kNodes - 2)));
    }
    indptr.push_back(indices.size());
  }
  const auto place = [&]<class T>(const std::vector<T>& values) {
    if (disk == nullptr) return Array<T>::CopyOf(values);
    Array<T> array = disk->NewArray<T>(values.size());
    std::copy(values.begin(), values.end(), array.mutable_data());
    return array;
  };
  Dataset dataset;
  dataset.name = "hub";
  dataset.graph.nodes = kNodes;
  dataset.graph.indptr = place(indptr);
  dataset.graph.indices = place(indices);
  Array<float> features = place(std::vector<float>(size_t{kNodes} * kFeatures, 0.5f));
  values = features.mutable_data();
  dataset.features = Features::Dense({features, kNodes, kFeatures});
  dataset.labels.classes = 2;
  dataset.labels.classes_of = place(std::vector<int32_t>(kNodes, 1));
  return dataset;
}

// The message about the data set, the same from one thread and from three.
std::string Complaint(Context context, const Dataset& dataset) {
  std::string first;
  for (const uint32_t threads : {1u, 3u}) {
    const Context base = MakeContext(threads);
    context.pool = base.pool;
    context.threads = base.threads;
    std::string said;
    try {
      ValidateDataset(context, dataset);
    } catch (const Error& error) {
      said = error.what();
    }
    if (threads == 1) first = said;
    EXPECT_EQ(said, first);
  }
  return first;
}

TEST(ValidateTest, TheFirstThingWrongIsNamedWhereverTheDataLies) {
  TemporaryFolder folder;
  Context from_files = MakeContext(1);
  from_files.disk = std::make_shared<DiskMemory>(uint64_t{1} << 30, folder.path());
  for (const Context& context : {MakeContext(1), from_files}) {
    float* values = nullptr;
    Dataset dataset = HubAmongMany(context.disk.get(), values);
    EXPECT_EQ(Complaint(context, dataset), "");
    uint32_t* const indices = dataset.graph.indices.mutable_data();
    const uint64_t hub = dataset.graph.indptr[kHub];
    for (const uint64_t at : {hub, hub + 262144, hub + 300000, hub + kHubEntries - 1}) {
      const uint32_t before = indices[at];
      indices[at] = kNodes;
      EXPECT_NE(
          Complaint(context, dataset).find("node 9000 has an edge to node 700000, but there are 700000"),
          std::string::npos);
      indices[at] = at == hub ? 1 : indices[at - 1];
      EXPECT_NE(Complaint(context, dataset).find("of node 9000 does not ascend or repeats"),
                std::string::npos);
      indices[at] = before;
    }
    uint64_t* const indptr = dataset.graph.indptr.mutable_data();
    indptr[500001] += 1000;
    indptr[400001] += 1000;
    EXPECT_NE(Complaint(context, dataset).find("offsets fall at node 400001"), std::string::npos);
    indptr[500001] -= 1000;
    indptr[400001] -= 1000;
    values[size_t{600000} * kFeatures + 2] = values[size_t{650000} * kFeatures] =
        std::numeric_limits<float>::infinity();
    EXPECT_NE(Complaint(context, dataset).find("feature 2 of node 600000 is inf"), std::string::npos);
    values[size_t{600000} * kFeatures + 2] = -3.7e19f;
    EXPECT_NE(
        Complaint(context, dataset).find("feature 2 of node 600000 is -3.7e+19, and its square overflows"),
        std::string::npos);
    values[size_t{600000} * kFeatures + 2] = 1.8446744e19f;  // 2⁶⁴, the largest that is taken
    values[size_t{650000} * kFeatures] = 0;
    dataset.labels.classes_of.mutable_data()[123456] = 2;
    EXPECT_NE(Complaint(context, dataset).find("node 123456 has class 2"), std::string::npos);
    dataset.labels.classes = (1 << 20) + 1;
    EXPECT_NE(Complaint(context, dataset).find("1048577 classes for 700000 nodes"), std::string::npos);
  }
}

}  // namespace
}  // namespace l2gcn
