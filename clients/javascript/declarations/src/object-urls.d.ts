/** The object URLs of pictures on the device. Each is released when its picture is no longer shown. */
export class ObjectURLs {
    /**
     * Returns the URL of a queued picture.
     *
     * @param {string} key
     * @param {Blob} blob
     * @returns {string | null}
     */
    get(key: string, blob: Blob): string | null;
    /**
     * @param {string} mediaID
     * @returns {string | null}
     */
    sent(mediaID: string): string | null;
    /**
     * Ends the queueing of a picture. With the id under which it was sent, its URL is kept for a while.
     *
     * @param {string} key
     * @param {string} [mediaID]
     */
    release(key: string, mediaID?: string | undefined): void;
    clear(): void;
    #private;
}
