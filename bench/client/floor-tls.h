/* TLS for the floor: OpenSSL directly on the socket, with one read for all records that have arrived. */
static SSL_CTX *tls;

static void set_up_tls(const char *address, const char *ca) {
  tls = SSL_CTX_new(TLS_client_method());
  SSL_CTX_set_mode(tls, SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_read_ahead(tls, 1);
  SSL_CTX_set_session_cache_mode(tls, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_verify(tls, SSL_VERIFY_PEER, NULL);
  if (!X509_VERIFY_PARAM_set1_ip_asc(SSL_CTX_get0_param(tls), address)) die("address");
  if (!SSL_CTX_load_verify_locations(tls, ca, NULL)) die("certificate");
}

/* Returns 1 once the handshake is done. */
static int is_secure(struct connection *c) {
  if (c->tls == NULL) {
    c->tls = SSL_new(tls);
    SSL_set_fd(c->tls, c->fd);
  }
  int done = SSL_connect(c->tls);
  if (done != 1 && SSL_get_error(c->tls, done) != SSL_ERROR_WANT_READ) {
    fprintf(stderr, "floor: TLS: %s\n", X509_verify_cert_error_string(SSL_get_verify_result(c->tls)));
    exit(1);
  }
  return done == 1;
}

/* Returns the same as read(). */
static ssize_t receive(struct connection *c, char *into, size_t size) {
  int got = SSL_read(c->tls, into, (int)size);
  if (got > 0) return got;
  int error = SSL_get_error(c->tls, got);
  if (error == SSL_ERROR_WANT_READ) errno = EAGAIN;
  return error == SSL_ERROR_ZERO_RETURN ? 0 : -1;
}

static int has_more(struct connection *c) { return SSL_has_pending(c->tls); }

static void send_all(struct connection *c, const char *bytes, size_t size) {
  if (SSL_write(c->tls, bytes, (int)size) != (int)size) die("write");
}
