import Foundation
import Postline

#if canImport(SwiftUI)
import CoreGraphics
import ImageIO
import SwiftUI

extension Image {
    /// Decodes a picture's file, off the main actor. Returns nil if the system cannot read it.
    @concurrent
    static func decoded(_ picture: Data) async -> Image? {
        // A thumbnail is turned as the camera was held.
        let options: [CFString: Any] = [
            kCGImageSourceCreateThumbnailFromImageAlways: true, kCGImageSourceCreateThumbnailWithTransform: true,
            kCGImageSourceThumbnailMaxPixelSize: 2_048,
        ]
        guard let source = CGImageSourceCreateWithData(picture as CFData, nil),
            let image = CGImageSourceCreateThumbnailAtIndex(
                source, CGImageSourceGetPrimaryImageIndex(source), options as CFDictionary)
        else { return nil }
        return Image(decorative: image, scale: 1)
    }

    /// Decodes the placeholder of a picture, off the main actor.
    @concurrent
    static func placeholder(_ blurhash: String) async -> Image? {
        guard let pixels = BlurHash(blurhash)?.pixels(width: 32, height: 32),
            let provider = CGDataProvider(data: Data(pixels) as CFData),
            let image = CGImage(
                width: 32, height: 32, bitsPerComponent: 8, bitsPerPixel: 32, bytesPerRow: 128,
                space: CGColorSpaceCreateDeviceRGB(),
                bitmapInfo: CGBitmapInfo(rawValue: CGImageAlphaInfo.noneSkipLast.rawValue), provider: provider,
                decode: nil, shouldInterpolate: true, intent: .defaultIntent)
        else { return nil }
        return Image(decorative: image, scale: 1)
    }

    /// Returns the size in pixels of a picture's file as it is shown, or nil if the system cannot read it.
    static func size(of picture: Data) -> (width: Int, height: Int)? {
        guard let source = CGImageSourceCreateWithData(picture as CFData, nil),
            let properties = CGImageSourceCopyPropertiesAtIndex(
                source, CGImageSourceGetPrimaryImageIndex(source), nil) as? [CFString: Any],
            let width = properties[kCGImagePropertyPixelWidth] as? Int,
            let height = properties[kCGImagePropertyPixelHeight] as? Int
        else { return nil }
        // From 5 on, the camera was held upright: the sides are exchanged.
        let orientation = properties[kCGImagePropertyOrientation] as? Int ?? 1
        return orientation < 5 ? (width, height) : (height, width)
    }
}
#else
import SwiftUIStubs

extension Image {
    static func decoded(_ picture: Data) async -> Image? { nil }

    static func placeholder(_ blurhash: String) async -> Image? { nil }

    static func size(of picture: Data) -> (width: Int, height: Int)? { nil }
}
#endif
