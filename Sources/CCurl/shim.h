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
    CURL *handle;
    // What is left to be sent, and how long the server may take to answer once nothing is, in seconds.
    const char *next;
    size_t left;
    long response_timeout;
    // The first letter of the command that was sent last; 0: none was.
    char command;
    // The server's refusal of that command, of several lines the first, and what libcurl says of a failure; both end with
    // a NUL.
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
    if (exchange->left == 0) {
        curl_easy_setopt(exchange->handle, CURLOPT_SERVER_RESPONSE_TIMEOUT, exchange->response_timeout);
    }
    return length;
}

// Every line that the server says comes here.
static inline size_t postline_curl_keep_refusal(char *line, size_t size, size_t count, void *pointer) {
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

// Every command comes here as it is sent. What was refused before the next is sent was no matter; but libcurl says goodbye
// (QUIT) before it returns.
static inline int postline_curl_note_command(CURL *handle, curl_infotype type, char *text, size_t length, void *pointer) {
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

static inline size_t postline_curl_drop(char *line, size_t size, size_t count, void *pointer) {
    return size * count;
}

static inline CURLcode postline_curl_set_exchange(CURL *handle, struct postline_curl_exchange *exchange) {
    exchange->handle = handle;
    CURLcode code = curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, exchange->error);
    if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_VERBOSE, 1L);
    if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_DEBUGFUNCTION, postline_curl_note_command);
    if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_DEBUGDATA, exchange);
    if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_READFUNCTION, postline_curl_read);
    if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_READDATA, exchange);
    if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, postline_curl_keep_refusal);
    if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_HEADERDATA, exchange);
    if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, postline_curl_drop);
    return code;
}
