package flowsim.differential;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.StringJoiner;
import org.apache.flink.core.memory.MemorySegmentFactory;
import org.apache.flink.runtime.io.network.buffer.Buffer;
import org.apache.flink.runtime.io.network.buffer.BufferBuilder;
import org.apache.flink.runtime.io.network.buffer.BufferConsumer;

/** One real BufferBuilder with its consumers; each command is answered with its result and everything that can be seen. */
public final class BufferDriver extends Driver {
    private final BufferBuilder builder;
    private final List<BufferConsumer> consumers = new ArrayList<>();
    private final List<Buffer> slices = new ArrayList<>();
    private int recycled;
    private int written;

    public BufferDriver(int size) {
        builder = new BufferBuilder(MemorySegmentFactory.allocateUnpooledSegment(size), segment -> recycled++);
    }

    @Override
    public String execute(String name, int[] n) {
        int argument = n.length > 0 ? n[0] : 0;
        switch (name) {
            case "create_consumer":
                consumers.add(builder.createBufferConsumer());
                return "-";
            case "create_consumer_from_beginning":
                consumers.add(builder.createBufferConsumerFromBeginning());
                return "-";
            case "copy":
                consumers.add(consumers.get(argument).copy());
                return "-";
            case "append":
            case "append_and_commit":
                ByteBuffer source = counting(written, argument);
                int taken = name.equals("append") ? builder.append(source) : builder.appendAndCommit(source);
                written += taken;
                return taken + "," + source.remaining();
            case "look":
                return "-";
            case "commit":
                builder.commit();
                return "-";
            case "finish":
                return "" + builder.finish();
            case "trim":
                builder.trim(argument);
                return "-";
            case "build":
                Buffer slice = consumers.get(argument).build();
                slices.add(slice);
                return Describe.bytes(slice);
            case "recycle":
                slices.get(argument).recycleBuffer();
                return "-";
            case "close":
                builder.close();
                return "-";
            case "close_consumer":
                consumers.get(argument).close();
                return "-";
            default:
                throw new IllegalArgumentException(name);
        }
    }

    @Override
    public String state() {
        StringJoiner text = new StringJoiner(" ");
        text.add("" + builder.isFinished()).add("" + builder.isFull()).add("" + builder.getWritableBytes());
        text.add("" + builder.getCommittedBytes()).add("" + builder.getMaxCapacity()).add("" + recycled);
        for (BufferConsumer each : consumers) {
            text.add(each.isFinished() + "," + each.isDataAvailable() + "," + each.getWrittenBytes());
        }
        return text.toString();
    }
}
