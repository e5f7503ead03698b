#include "core/cpu_quota.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "l2gcn/context.h"

namespace l2gcn {
namespace {

namespace fs = std::filesystem;

class CpuQuotaTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(testing::TempDir()) /
            (std::string("cpu_quota_") + testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(root_);
  }
  void TearDown() override { fs::remove_all(root_); }
  void Write(const std::string& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  fs::path root_;
};

TEST_F(CpuQuotaTest, NothingToReadMeansNoLimit) { EXPECT_EQ(CpuQuota(root_), 0); }

TEST_F(CpuQuotaTest, VersionTwoTakesTheTightestOnTheWayUp) {
  Write("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n");
  Write("proc/self/cgroup", "0::/user/job\n");
  Write("sys/fs/cgroup/user/job/cpu.max", "max 100000\n");
  EXPECT_EQ(CpuQuota(root_), 0);
  Write("sys/fs/cgroup/user/job/cpu.max", "400000 100000\n");
  EXPECT_EQ(CpuQuota(root_), 4);
  Write("sys/fs/cgroup/user/cpu.max", "75000 50000\n");
  EXPECT_EQ(CpuQuota(root_), 1.5);
}

TEST_F(CpuQuotaTest, VersionOneReadsQuotaAndPeriod) {
  Write("proc/self/mountinfo",
        "1 0 0:1 / / rw - ext4 /dev/vda rw\n"
        "40 23 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
        "41 23 0:31 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
        "42 23 0:32 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n");
  Write("proc/self/cgroup", "9:cpuset:/\n4:memory:/a\n3:cpu,cpuacct:/a/b\n0::/\n");
  Write("sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_quota_us", "-1\n");
  Write("sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(CpuQuota(root_), 0);
  Write("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "250000\n");
  Write("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(CpuQuota(root_), 2.5);
}

// In a container the mount begins with the container's own group, though its path is seen from the host.
TEST_F(CpuQuotaTest, AContainersMountBeginsWithItsOwnGroup) {
  Write("proc/self/mountinfo", "41 23 0:31 /docker/abc /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n");
  Write("proc/self/cgroup", "3:cpu:/docker/abc/inner\n");
  Write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n");
  Write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  Write("sys/fs/cgroup/cpu/inner/cpu.cfs_quota_us", "30000\n");
  Write("sys/fs/cgroup/cpu/inner/cpu.cfs_period_us", "100000\n");
  EXPECT_DOUBLE_EQ(CpuQuota(root_), 0.3);
}

TEST_F(CpuQuotaTest, BrokenFilesMeanNoLimit) {
  Write("proc/self/mountinfo", "broken\n41 23 0:31 - cgroup2\n30 23 0:26 / /g rw - cgroup2 x rw\n");
  Write("proc/self/cgroup", "nonsense\n0::/../outside\n");
  Write("g/cpu.max", "100000 0\n");
  EXPECT_EQ(CpuQuota(root_), 0);
}

TEST(UsableCores, AtLeastOne) { EXPECT_GE(UsableCores(), 1u); }

}  // namespace
}  // namespace l2gcn
