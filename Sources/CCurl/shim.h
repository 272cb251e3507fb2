#include <curl/curl.h>
#include <string.h>

// Swift calls no function with a variable number of arguments: here is each that is needed, by the type of what is set.

static inline CURLcode postline_curl_set_text(CURL *handle, CURLoption option, const char *text) {
    return curl_easy_setopt(handle, option, text);
}

static inline CURLcode postline_curl_set_number(CURL *handle, CURLoption option, long number) {
    return curl_easy_setopt(handle, option, number);
}

static inline CURLcode postline_curl_set_list(CURL *handle, CURLoption option, struct curl_slist *list) {
    return curl_easy_setopt(handle, option, list);
}

// What a transfer reads and writes. It outlives the handle that it is given to.
struct postline_curl_exchange {
    // What is left to be sent.
    const char *next;
    size_t left;
    // The server's last refusal, of several lines the first, and what libcurl says of a failure; both end with a NUL.
    char refusal[512];
    char error[CURL_ERROR_SIZE];
    // Whether the line that comes next belongs to the one before.
    int continues;
};

static inline size_t postline_curl_read(char *buffer, size_t size, size_t count, void *pointer) {
    struct postline_curl_exchange *exchange = (struct postline_curl_exchange *)pointer;
    size_t room = size * count;
    size_t length = exchange->left < room ? exchange->left : room;
    memcpy(buffer, exchange->next, length);
    exchange->next += length;
    exchange->left -= length;
    return length;
}

// Every line that the server says comes here, also those after a refusal: libcurl says goodbye before it returns.
static inline size_t postline_curl_keep_refusal(char *line, size_t size, size_t count, void *pointer) {
    struct postline_curl_exchange *exchange = (struct postline_curl_exchange *)pointer;
    size_t length = size * count;
    int is_first = !exchange->continues;
    exchange->continues = length > 3 && line[3] == '-';
    if (is_first && length > 2 && (line[0] == '4' || line[0] == '5')) {
        size_t kept = length < sizeof exchange->refusal - 1 ? length : sizeof exchange->refusal - 1;
        memcpy(exchange->refusal, line, kept);
        exchange->refusal[kept] = 0;
    }
    return length;
}

static inline size_t postline_curl_drop(char *line, size_t size, size_t count, void *pointer) {
    return size * count;
}

static inline CURLcode postline_curl_set_exchange(CURL *handle, struct postline_curl_exchange *exchange) {
    CURLcode code = curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, exchange->error);
    if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_READFUNCTION, postline_curl_read);
    if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_READDATA, exchange);
    if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, postline_curl_keep_refusal);
    if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_HEADERDATA, exchange);
    if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, postline_curl_drop);
    return code;
}
