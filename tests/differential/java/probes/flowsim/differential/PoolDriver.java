package flowsim.differential;

import java.lang.reflect.Field;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.StringJoiner;
import org.apache.flink.core.memory.MemorySegment;
import org.apache.flink.runtime.io.network.buffer.Buffer;
import org.apache.flink.runtime.io.network.buffer.BufferBuilder;
import org.apache.flink.runtime.io.network.buffer.BufferListener;
import org.apache.flink.runtime.io.network.buffer.LocalBufferPool;
import org.apache.flink.runtime.io.network.buffer.NetworkBufferPool;

/** One real NetworkBufferPool with its local pools, and everything that can be seen of them after each command. */
public final class PoolDriver extends Driver {
    private final NetworkBufferPool network;
    private final List<LocalBufferPool> pools = new ArrayList<>();
    private final List<BufferBuilder> held = new ArrayList<>();
    private final List<Buffer> taken = new ArrayList<>();
    private final Deque<MemorySegment> unpooled = new ArrayDeque<>();
    private final StringBuilder told = new StringBuilder();

    /** What is spare is shared over a HashSet, in the order of hash codes by identity; here in the order of creation. */
    public PoolDriver(int segments) throws ReflectiveOperationException {
        network = new NetworkBufferPool(segments, 8);
        Field pools = NetworkBufferPool.class.getDeclaredField("resizableBufferPools");
        pools.setAccessible(true);
        pools.set(network, new LinkedHashSet<>());
    }

    @Override
    public void begin() {
        told.setLength(0);
    }

    @Override
    public String execute(String name, int[] n) throws Exception {
        switch (name) {
            case "create":
                pools.add((LocalBufferPool) network.createBufferPool(n[0], n[1], n[2], n[3], n[4]));
                return "-";
            case "request":
                LocalBufferPool from = pools.get(n[0]);
                BufferBuilder got = n[1] < 0 ? from.requestBufferBuilder() : from.requestBufferBuilder(n[1]);
                if (got == null) {
                    return "none";
                }
                held.add(got);
                return "" + (held.size() - 1);
            case "recycle":
                held.get(n[0]).close();
                return "-";
            case "give_back":
                taken.get(n[0]).recycleBuffer();
                return "-";
            case "set_num_buffers":
                pools.get(n[0]).setNumBuffers(n[1]);
                return "-";
            case "set_overdraft":
                pools.get(n[0]).setMaxOverdraftBuffersPerGate(n[1]);
                return "-";
            case "lazy_destroy":
                pools.get(n[0]).lazyDestroy();
                return "-";
            case "listen":
                return "" + pools.get(n[0]).addBufferListener(new Listener(n[1], n[2] == 1));
            case "when_available":
                pools.get(n[0]).getAvailableFuture().thenRun(() -> told.append("free").append(n[1]).append(','));
                return "-";
            case "reserve":
                unpooled.addAll(network.requestUnpooledMemorySegments(n[0]));
                return "-";
            case "return_reserved":
                List<MemorySegment> back = new ArrayList<>();
                for (int i = 0; i < n[0]; i++) {
                    back.add(unpooled.poll());
                }
                network.recycleUnpooledMemorySegments(back);
                return "-";
            default:
                throw new AssertionError(name);
        }
    }

    private final class Listener implements BufferListener {
        private final int number;
        private final boolean takes;

        Listener(int number, boolean takes) {
            this.number = number;
            this.takes = takes;
        }

        @Override
        public boolean notifyBufferAvailable(Buffer buffer) {
            told.append(takes ? "took" : "left").append(number).append(',');
            if (takes) {
                taken.add(buffer);
            }
            return takes;
        }

        @Override
        public void notifyBufferDestroyed() {}
    }

    @Override
    public String state() {
        StringJoiner text = new StringJoiner(" ");
        text.add("[" + told + "]").add("" + network.getNumberOfAvailableMemorySegments());
        text.add("" + network.getAvailableFuture().isDone());
        for (LocalBufferPool pool : pools) {
            text.add(pool.getNumBuffers() + "," + pool.getNumberOfRequestedMemorySegments() + ","
                    + pool.getNumberOfAvailableMemorySegments() + "," + pool.bestEffortGetNumOfUsedBuffers() + ","
                    + pool.getAvailableFuture().isDone() + "," + pool.isDestroyed());
        }
        return text.toString();
    }
}
