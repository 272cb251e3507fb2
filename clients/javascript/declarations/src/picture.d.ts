/**
 * Returns a file as the picture of a message: at most 2,048 pixels long. A photograph is always drawn again, which
 * removes where it was taken. Where there is no canvas, as in Node, the file is taken as it is.
 *
 * @param {Blob} file
 * @returns {Promise<Picture>}
 * @throws {PostlineError} `invalid_params` if the browser cannot read the file.
 */
export function messagePicture(file: Blob): Promise<Picture>;
/**
 * Returns the middle square of a file as an avatar, at most 512 pixels wide.
 *
 * @param {Blob} file
 * @returns {Promise<Picture>}
 * @throws {PostlineError} `invalid_params` if the browser cannot read the file.
 */
export function avatarPicture(file: Blob): Promise<Picture>;
/**
 * Returns what is to be uploaded of an argument.
 *
 * @param {Blob | Picture} file
 * @param {(file: Blob) => Promise<Picture>} make Called with a file as the user chose it.
 * @returns {Promise<Picture>}
 * @throws {PostlineError} `invalid_params`
 */
export function pictureOf(file: Blob | Picture, make: (file: Blob) => Promise<Picture>): Promise<Picture>;
/**
 * Draws an image or a frame of a video as a picture, scaled down to a number of pixels.
 *
 * @param {ImageBitmap | HTMLVideoElement} image
 * @param {number} width
 * @param {number} height
 * @param {number} [longest]
 */
export function drawn(image: ImageBitmap | HTMLVideoElement, width: number, height: number, longest?: number | undefined): Promise<Picture>;
export function canDraw(): boolean;
/**
 * Returns the first bytes of a file as characters.
 *
 * @param {Blob} file
 */
export function firstBytes(file: Blob): Promise<string>;
/**
 * A file to upload: `type` is a type that the server accepts. Of a video or an audio `duration_ms` and `waveform` are
 * shown to the receivers, and `preview` is a picture to show before the file.
 */
export type Picture = {
    blob: Blob;
    type: string;
    width?: number;
    height?: number;
    name?: string;
    duration_ms?: number;
    waveform?: string;
    preview?: {
        blob: Blob;
        type: string;
        width?: number;
        height?: number;
    };
};
