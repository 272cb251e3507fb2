import Foundation
import Postline

#if canImport(SwiftUI)
import ImageIO
import SwiftUI

extension Image {
    /// Creates an image from a picture's file, or returns nil if the system cannot read it.
    init?(picture: Data) {
        // A thumbnail is turned as the camera was held.
        let options: [CFString: Any] = [
            kCGImageSourceCreateThumbnailFromImageAlways: true, kCGImageSourceCreateThumbnailWithTransform: true,
        ]
        guard let source = CGImageSourceCreateWithData(picture as CFData, nil),
            let image = CGImageSourceCreateThumbnailAtIndex(source, 0, options as CFDictionary)
        else { return nil }
        self.init(decorative: image, scale: 1)
    }

    /// Creates the placeholder of a picture.
    init?(blurhash: String) {
        guard let pixels = BlurHash(blurhash)?.pixels(width: 32, height: 32),
            let provider = CGDataProvider(data: Data(pixels) as CFData),
            let image = CGImage(
                width: 32, height: 32, bitsPerComponent: 8, bitsPerPixel: 32, bytesPerRow: 128,
                space: CGColorSpaceCreateDeviceRGB(),
                bitmapInfo: CGBitmapInfo(rawValue: CGImageAlphaInfo.noneSkipLast.rawValue), provider: provider,
                decode: nil, shouldInterpolate: true, intent: .defaultIntent)
        else { return nil }
        self.init(decorative: image, scale: 1)
    }
}
#else
import SwiftUIStubs

extension Image {
    init?(picture: Data) { self.init("") }

    init?(blurhash: String) { self.init("") }
}
#endif
