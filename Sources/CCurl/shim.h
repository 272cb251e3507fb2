#include <curl/curl.h>
#include <string.h>

// Wrappers of the variadic curl_easy_setopt, which Swift cannot call: one for each type of value.

static inline CURLcode postline_curl_set_text(CURL *handle, CURLoption option, const char *text) {
    return curl_easy_setopt(handle, option, text);
}

static inline CURLcode postline_curl_set_number(CURL *handle, CURLoption option, long number) {
    return curl_easy_setopt(handle, option, number);
}

static inline CURLcode postline_curl_set_list(CURL *handle, CURLoption option, struct curl_slist *list) {
    return curl_easy_setopt(handle, option, list);
}

// The state of a transfer. It must outlive its handle.
struct postline_curl_exchange {
    CURL *handle;
    // The remaining bytes, and the timeout for the response to the complete mail, in seconds.
    const char *next;
    size_t left;
    long response_timeout;
    // The first letter of the last command, or 0.
    char command;
    // The first line of the server's error response to that command, and libcurl's error message; both end with a NUL.
    char refusal[512];
    char error[CURL_ERROR_SIZE];
    // True if the next line continues the response.
    int continues;
};

static inline size_t postline_curl_read(char *buffer, size_t size, size_t count, void *pointer) {
    struct postline_curl_exchange *exchange = (struct postline_curl_exchange *)pointer;
    size_t room = size * count;
    size_t length = exchange->left < room ? exchange->left : room;
    memcpy(buffer, exchange->next, length);
    exchange->next += length;
    exchange->left -= length;
    if (exchange->left == 0) {
        curl_easy_setopt(exchange->handle, CURLOPT_SERVER_RESPONSE_TIMEOUT, exchange->response_timeout);
    }
    return length;
}

// Called for each line of the server.
static inline size_t postline_curl_record_refusal(char *line, size_t size, size_t count, void *pointer) {
    struct postline_curl_exchange *exchange = (struct postline_curl_exchange *)pointer;
    size_t length = size * count;
    int is_first = !exchange->continues;
    exchange->continues = length > 3 && line[3] == '-';
    if (is_first && length > 2 && (line[0] == '4' || line[0] == '5') && exchange->command != 'Q') {
        size_t kept = length < sizeof exchange->refusal - 1 ? length : sizeof exchange->refusal - 1;
        memcpy(exchange->refusal, line, kept);
        exchange->refusal[kept] = 0;
    }
    return length;
}

// Called for each command sent. An error response that another command follows was not fatal, except before QUIT, which
// libcurl sends before it returns.
static inline int postline_curl_record_command(
    CURL *handle, curl_infotype type, char *text, size_t length, void *pointer) {
    struct postline_curl_exchange *exchange = (struct postline_curl_exchange *)pointer;
    (void)handle;
    if (type == CURLINFO_HEADER_OUT && length > 0) {
        if (text[0] != 'Q') {
            exchange->command = text[0];
            exchange->refusal[0] = 0;
        } else if (exchange->refusal[0] == 0) {
            exchange->command = 'Q';
        }
    }
    return 0;
}

static inline size_t postline_curl_discard(char *line, size_t size, size_t count, void *pointer) {
    return size * count;
}

static inline CURLcode postline_curl_set_exchange(CURL *handle, struct postline_curl_exchange *exchange) {
    exchange->handle = handle;
    CURLcode code = curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, exchange->error);
    if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_VERBOSE, 1L);
    if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_DEBUGFUNCTION, postline_curl_record_command);
    if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_DEBUGDATA, exchange);
    if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_READFUNCTION, postline_curl_read);
    if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_READDATA, exchange);
    if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, postline_curl_record_refusal);
    if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_HEADERDATA, exchange);
    if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, postline_curl_discard);
    return code;
}
