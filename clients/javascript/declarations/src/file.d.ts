/**
 * Returns any file as that of a message. A picture is scaled down as by `messagePicture`, unless it cannot be read. A
 * browser reads length and size of a video or an audio, and draws the first frame of a video.
 *
 * @param {Blob} file
 * @returns {Promise<Picture>}
 */
export function messageFile(file: Blob): Promise<Picture>;
/**
 * Returns the kind of a message that begins with a file.
 *
 * @param {{ type: string }} file
 * @returns {'image' | 'video' | 'audio' | 'file'}
 */
export function kindOf({ type }: {
    type: string;
}): 'image' | 'video' | 'audio' | 'file';
/**
 * Returns the params of a new message. Its kind is that of its first attachment, unless the options name another.
 *
 * @param {string} content
 * @param {import('./chat.js').SendOptions} options
 */
export function messageParams(content: string, options: import('./chat.js').SendOptions): {
    attachment?: {
        media_id?: string | null | undefined;
        url?: string | null | undefined;
        mime_type?: string | null | undefined;
        width?: number | null | undefined;
        height?: number | null | undefined;
        bytes?: number | null | undefined;
        blurhash?: string | null | undefined;
        name?: string | null | undefined;
        duration_ms?: number | null | undefined;
        waveform?: string | null | undefined;
        preview_media_id?: string | null | undefined;
    } | null | undefined;
    data?: Record<string, any> | null | undefined;
    kind?: "file" | "custom" | "audio" | "video" | "image" | "text" | null | undefined;
    is_streaming?: boolean | null | undefined;
    attachments?: {
        media_id?: string | null | undefined;
        url?: string | null | undefined;
        mime_type?: string | null | undefined;
        width?: number | null | undefined;
        height?: number | null | undefined;
        bytes?: number | null | undefined;
        blurhash?: string | null | undefined;
        name?: string | null | undefined;
        duration_ms?: number | null | undefined;
        waveform?: string | null | undefined;
        preview_media_id?: string | null | undefined;
    }[] | null | undefined;
    mentions?: string[] | null | undefined;
    mentions_everyone?: boolean | null | undefined;
    reply_to_seq?: number | null | undefined;
    content: string;
};
export type Picture = import('./picture.js').Picture;
