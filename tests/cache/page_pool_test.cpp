#include "cache/page_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <vector>

#include "support/expect_error.h"

namespace colugo {
namespace {

constexpr int64_t kPageBytes = 192;

bool is_zero(const std::byte* page) {
    return std::all_of(page, page + kPageBytes, [](std::byte b) { return b == std::byte{0}; });
}

TEST(PagePool, PagesAreDistinctZeroAndDoNotOverlap) {
    PagePool pool(kPageBytes, 40);
    std::vector<std::byte*> pages;
    for (int i = 0; i < 40; ++i) {
        pages.push_back(pool.grant());
        EXPECT_TRUE(is_zero(pages.back()));
        EXPECT_EQ(reinterpret_cast<uintptr_t>(pages.back()) % 64, 0u);
        std::memset(pages.back(), i + 1, kPageBytes);
    }
    EXPECT_EQ(pool.granted(), 40);
    for (int i = 0; i < 40; ++i) {
        for (int64_t at = 0; at < kPageBytes; ++at)
            EXPECT_EQ(std::to_integer<int>(pages[static_cast<size_t>(i)][at]), i + 1);
    }
    EXPECT_EQ(std::set<std::byte*>(pages.begin(), pages.end()).size(), 40u);
}

TEST(PagePool, AReleasedPageComesBackZeroed) {
    PagePool pool(kPageBytes, 2);
    std::byte* first = pool.grant();
    std::byte* second = pool.grant();
    std::memset(first, 0xff, kPageBytes);
    std::memset(second, 0x55, kPageBytes);
    pool.release(first);
    EXPECT_EQ(pool.granted(), 1);
    std::byte* again = pool.grant();
    EXPECT_EQ(again, first);
    EXPECT_TRUE(is_zero(again));
    EXPECT_EQ(second[0], std::byte{0x55});
}

TEST(PagePool, AnEmptyPoolRefuses) {
    PagePool pool(kPageBytes, 1);
    std::byte* page = pool.grant();
    EXPECT_ERROR(ErrorCode::resource_exhausted, "all 1 attention pages", pool.grant());
    EXPECT_EQ(pool.granted(), 1);
    pool.release(page);
    EXPECT_NO_THROW(pool.grant());
    EXPECT_ERROR(ErrorCode::resource_exhausted, "all 0", PagePool(kPageBytes, 0).grant());
}

TEST(PagePool, ABrokenReleaseIsABug) {
    PagePool pool(kPageBytes, 1);
    EXPECT_DEATH(pool.release(nullptr), "page_pool.cpp");
    std::byte* page = pool.grant();
    pool.release(page);
    EXPECT_DEATH(pool.release(page), "page_pool.cpp");
    PagePool two(kPageBytes, 2);
    page = two.grant();
    two.grant();
    two.release(page);
    EXPECT_DEATH(two.release(page), "page_pool.cpp");  // though another one is out
}

}  // namespace
}  // namespace colugo
