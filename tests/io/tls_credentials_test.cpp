#include "io/tls_credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include "tls_peer.h"

namespace cuckooguard::io {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class TlsCredentialsTest : public ::testing::Test {
 protected:
  static std::string error_of(const config::ListenTls& settings) {
    const auto loaded = TlsCredentials::load(settings);
    return loaded ? "it is fine" : loaded.error();
  }
  std::string file(const std::string& name, const std::string& text) const {
    harness::write_whole_file(files_ / name, text);
    return files_ / name;
  }

  TlsFiles files_;
};

TEST_F(TlsCredentialsTest, good_files_are_loaded_without_a_warning) {
  const auto server = TlsCredentials::load(files_.listen());
  ASSERT_TRUE(server) << server.error();
  EXPECT_THAT((*server)->warnings(), IsEmpty());
  const auto client = TlsCredentials::load(files_.upstream());
  ASSERT_TRUE(client) << client.error();
  EXPECT_THAT((*client)->warnings(), IsEmpty());
}

TEST_F(TlsCredentialsTest, the_systems_authorities_are_there_by_default) {
  EXPECT_TRUE(TlsCredentials::load(config::UpstreamTls{}));
}

TEST_F(TlsCredentialsTest, a_file_that_is_not_there_is_named) {
  config::ListenTls settings = files_.listen();
  settings.key = "/nowhere/server.key";
  EXPECT_EQ(error_of(settings), "/nowhere/server.key: No such file or directory");
  settings = files_.listen();
  settings.cert = "/nowhere/server.crt";
  EXPECT_EQ(error_of(settings), "/nowhere/server.crt: No such file or directory");
  settings = files_.listen();
  settings.client_ca = "/nowhere/ca.crt";
  EXPECT_EQ(error_of(settings), "/nowhere/ca.crt: No such file or directory");
  config::UpstreamTls upstream = files_.upstream();
  upstream.ca = "/nowhere/ca.crt";
  EXPECT_EQ(TlsCredentials::load(upstream).error(), "/nowhere/ca.crt: No such file or directory");
}

TEST_F(TlsCredentialsTest, a_file_that_is_something_else_is_named) {
  const std::string prose = file("prose", "Dear Sir or Madam,\n");
  config::ListenTls settings = files_.listen();
  settings.cert = prose;
  EXPECT_THAT(error_of(settings), AllOf(StartsWith(prose + ": "), HasSubstr("not PEM")));
  settings = files_.listen();
  settings.key = prose;
  EXPECT_THAT(error_of(settings), AllOf(StartsWith(prose + ": "), HasSubstr("not PEM")));
  settings.key = settings.cert;
  EXPECT_THAT(error_of(settings), AllOf(StartsWith(settings.cert), HasSubstr("not PEM")));
  settings = files_.listen();
  settings.client_ca = prose;
  EXPECT_THAT(error_of(settings), StartsWith(prose + ": "));
}

TEST_F(TlsCredentialsTest, a_key_of_another_certificate_is_refused) {
  config::ListenTls settings = files_.listen();
  settings.key = files_ / "client.key";
  EXPECT_EQ(error_of(settings),
            settings.key + ": this key does not belong to the certificate " + settings.cert);
  files_.add("rsa", harness::Authority("other").issue("rsa", {.is_rsa = true}));
  settings.key = files_ / "rsa.key";
  EXPECT_EQ(error_of(settings),
            settings.key + ": this key does not belong to the certificate " + settings.cert);
}

// Nobody is at the terminal to be asked.
TEST_F(TlsCredentialsTest, a_key_with_a_passphrase_is_refused) {
  std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  const std::string path = files_ / "locked.key";
  std::FILE* const out = std::fopen(path.c_str(), "w");
  char passphrase[] = "sesame";
  PEM_write_PrivateKey(out,
                       key.get(),
                       EVP_aes_128_cbc(),
                       reinterpret_cast<unsigned char*>(passphrase),
                       6,
                       nullptr,
                       nullptr);
  std::fclose(out);
  config::ListenTls settings = files_.listen();
  settings.key = path;
  EXPECT_EQ(error_of(settings),
            path + ": the key is protected by a passphrase, which is not supported");
}

TEST_F(TlsCredentialsTest, a_certificate_that_has_expired_is_used_with_a_warning) {
  files_.add("old",
             harness::Authority("other").issue("old", {.expires_in = std::chrono::hours(-1)}));
  config::ListenTls settings = files_.listen();
  settings.cert = files_ / "old.crt";
  settings.key = files_ / "old.key";
  const auto loaded = TlsCredentials::load(settings);
  ASSERT_TRUE(loaded) << loaded.error();
  EXPECT_THAT((*loaded)->warnings(), ElementsAre(settings.cert + ": the certificate has expired"));
}

TEST_F(TlsCredentialsTest, connections_keep_what_they_were_made_with) {
  auto loaded = TlsFiles::of(files_.listen());
  const TlsConnection connection = loaded->new_connection();
  loaded.reset();
  EXPECT_NE(SSL_get_certificate(connection.get()), nullptr);
}

}  // namespace
}  // namespace cuckooguard::io
