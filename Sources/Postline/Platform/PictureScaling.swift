import Foundation

#if canImport(ImageIO)
import ImageIO

extension Platform {
    /// Returns the picture as JPEG, or as PNG if it is transparent, scaled down to at most this many pixels on its longer
    /// side. The result is turned upright and has no metadata. A picture that is smaller, is animated or cannot be read
    /// is returned as it is.
    @concurrent
    static func scaled(_ picture: Data, toPixels most: Int) async -> Data {
        guard let source = CGImageSourceCreateWithData(picture as CFData, nil) else { return picture }
        // A HEIC file may have others before it.
        let primary = CGImageSourceGetPrimaryImageIndex(source)
        guard let properties = CGImageSourceCopyPropertiesAtIndex(source, primary, nil) as? [CFString: Any],
            let width = properties[kCGImagePropertyPixelWidth] as? Int,
            let height = properties[kCGImagePropertyPixelHeight] as? Int, max(width, height) > most,
            // The images of a HEIC file are no animation.
            CGImageSourceGetCount(source) == 1 || FileType.picture(picture) == "image/heic"
        else { return picture }
        let hasAlpha = properties[kCGImagePropertyHasAlpha] as? Bool == true
        let options: [CFString: Any] = [
            kCGImageSourceCreateThumbnailFromImageAlways: true, kCGImageSourceCreateThumbnailWithTransform: true,
            kCGImageSourceThumbnailMaxPixelSize: most,
        ]
        let data = NSMutableData()
        guard let image = CGImageSourceCreateThumbnailAtIndex(source, primary, options as CFDictionary),
            let destination = CGImageDestinationCreateWithData(
                data, (hasAlpha ? "public.png" : "public.jpeg") as CFString, 1, nil)
        else { return picture }
        CGImageDestinationAddImage(
            destination, image, [kCGImageDestinationLossyCompressionQuality: 0.85] as CFDictionary)
        return CGImageDestinationFinalize(destination) ? data as Data : picture
    }
}
#else
extension Platform {
    /// Returns the picture as it is, because this platform has no image framework.
    @concurrent
    static func scaled(_ picture: Data, toPixels most: Int) async -> Data { picture }
}
#endif
