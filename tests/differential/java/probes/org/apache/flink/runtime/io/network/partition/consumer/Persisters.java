package org.apache.flink.runtime.io.network.partition.consumer;

import static flowsim.differential.Recorders.nothing;
import static flowsim.differential.Recorders.recorder;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.StringJoiner;
import org.apache.flink.core.memory.MemorySegmentFactory;
import org.apache.flink.runtime.checkpoint.channel.ChannelStateWriter;
import org.apache.flink.runtime.checkpoint.channel.InputChannelInfo;
import org.apache.flink.runtime.event.AbstractEvent;
import org.apache.flink.runtime.io.network.api.CheckpointBarrier;
import org.apache.flink.runtime.io.network.api.EventAnnouncement;
import org.apache.flink.runtime.io.network.api.serialization.EventSerializer;
import org.apache.flink.runtime.io.network.buffer.Buffer;
import org.apache.flink.runtime.io.network.buffer.FreeingBufferRecycler;
import org.apache.flink.runtime.io.network.buffer.NetworkBuffer;
import org.apache.flink.util.CloseableIterator;

/** A real ChannelStatePersister under commands: one line per command, and per answer. */
public final class Persisters {
    private final List<String> events = new ArrayList<>();
    private final ChannelStatePersister persister =
            new ChannelStatePersister(
                    recorder(
                            ChannelStateWriter.class,
                            (proxy, method, a) -> {
                                if (method.getName().equals("addInputData")) {
                                    store((Long) a[0], (CloseableIterator<?>) a[3]);
                                }
                                return nothing(method);
                            }),
                    new InputChannelInfo(0, 0));

    public static String run(String script) {
        Persisters probe = new Persisters();
        StringJoiner answers = new StringJoiner("\n");
        for (String line : script.split("\n")) {
            answers.add(probe.answer(line.split(" ")));
        }
        return answers.toString();
    }

    private String answer(String[] words) {
        events.clear();
        try {
            execute(words);
        } catch (Exception e) {
            events.add("!" + e.getClass().getSimpleName() + " " + e.getMessage());
        }
        return String.join(";", events) + "|" + persister.hasBarrierReceived() + " " + persister;
    }

    private void execute(String[] words) throws Exception {
        switch (words[0]) {
            case "start":
                List<Buffer> queued = new ArrayList<>();
                for (int i = 2; i < words.length; i++) {
                    queued.add(data(words[i]));
                }
                persister.startPersisting(Long.parseLong(words[1]), queued);
                break;
            case "stop":
                persister.stopPersisting(Long.parseLong(words[1]));
                break;
            case "data":
                check(data(words[1]));
                persister.maybePersist(data(words[1]));
                break;
            case "announcement":
                AbstractEvent announced = Events.event(words[1], Integer.parseInt(words[2]));
                check(EventSerializer.toBuffer(new EventAnnouncement((CheckpointBarrier) announced, 3), true));
                break;
            default:
                Buffer event = EventSerializer.toBuffer(Events.event(words[1], Integer.parseInt(words[2])), false);
                check(event);
                persister.maybePersist(event);
        }
    }

    private void check(Buffer buffer) throws Exception {
        OptionalLong found = persister.checkForBarrier(buffer);
        if (found.isPresent()) {
            events.add("found " + found.getAsLong());
        }
    }

    private void store(long id, CloseableIterator<?> buffers) {
        StringJoiner line = new StringJoiner(" ").add("store").add(String.valueOf(id));
        while (buffers.hasNext()) {
            line.add(String.valueOf(((Buffer) buffers.next()).getNioBufferReadable().getInt()));
        }
        events.add(line.toString());
    }

    private static Buffer data(String number) {
        byte[] bytes = ByteBuffer.allocate(4).putInt(Integer.parseInt(number)).array();
        NetworkBuffer buffer = new NetworkBuffer(MemorySegmentFactory.wrap(bytes), FreeingBufferRecycler.INSTANCE);
        buffer.setSize(bytes.length);
        return buffer;
    }
}
