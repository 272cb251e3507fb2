/** @typedef {import('./picture.js').Picture} Picture */
/** @typedef {(method: string, params: object) => Promise<any>} Call */
/** @typedef {(url: string) => string | null | Promise<string | null>} MediaURL */
/**
 * @typedef {object} UploadOptions
 * @property {'avatar' | 'message'} purpose
 * @property {string} [conversationID]
 * @property {(part: number) => void} [onProgress] Called with the uploaded part, from 0 to 1.
 * @property {AbortSignal} [signal]
 * @property {MediaURL} [mediaURL]
 * @property {Created} [begun] An earlier attempt.
 * @property {(created: Created) => unknown} [onBegin] Called before the upload begins, with what a later attempt needs.
 */
/**
 * Uploads a file, and returns its id. An upload that was begun is continued where it was interrupted, if the store can
 * do that.
 *
 * @param {Call} call
 * @param {Picture} file
 * @param {UploadOptions} options
 * @returns {Promise<string>}
 * @throws {PostlineError} The server's error, or `unavailable` (retryable) if the store did not take the file.
 */
export function upload(call: Call, file: Picture, options: UploadOptions): Promise<string>;
/**
 * Returns the name of a file as others see it. That of a photograph is its sender's business.
 *
 * @param {Picture} file
 */
export function sentName({ name, type }: Picture): {
    name: string;
} | {
    name?: undefined;
};
export type Picture = import('./picture.js').Picture;
export type Call = (method: string, params: object) => Promise<any>;
export type MediaURL = (url: string) => string | null | Promise<string | null>;
export type UploadOptions = {
    purpose: 'avatar' | 'message';
    conversationID?: string | undefined;
    /**
     * Called with the uploaded part, from 0 to 1.
     */
    onProgress?: ((part: number) => void) | undefined;
    signal?: AbortSignal | undefined;
    mediaURL?: MediaURL | undefined;
    /**
     * An earlier attempt.
     */
    begun?: {
        id: string;
        upload: {
            method: "PUT";
            url: string;
            headers: Record<string, any>;
            expires_at: string;
            part_bytes?: number | undefined;
        };
    } | undefined;
    /**
     * Called before the upload begins, with what a later attempt needs.
     */
    onBegin?: ((created: Created) => unknown) | undefined;
};
export type Created = import('../types.js').MethodResults['media.create'];
export type Target = Created['upload'];
