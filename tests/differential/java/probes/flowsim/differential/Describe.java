package flowsim.differential;

import java.nio.ByteBuffer;
import org.apache.flink.runtime.io.network.buffer.Buffer;

/** Buffers as text. */
public final class Describe {
    private Describe() {}

    /** The bytes in hexadecimal, "." for none. */
    public static String bytes(Buffer buffer) {
        if (buffer.readableBytes() == 0) {
            return ".";
        }
        ByteBuffer readable = buffer.getNioBufferReadable();
        StringBuilder text = new StringBuilder();
        while (readable.hasRemaining()) {
            text.append(String.format("%02x", readable.get()));
        }
        return text.toString();
    }
}
