package flowsim.differential;

import java.lang.reflect.Field;
import java.util.Collection;
import org.apache.flink.streaming.runtime.tasks.mailbox.Mail;
import org.apache.flink.streaming.runtime.tasks.mailbox.TaskMailboxImpl;

/** A real mailbox; while its thread waits for a mail, a neighbour lets bursts arrive until one of them ends the wait. */
public class ArrivingMailbox extends TaskMailboxImpl {
    private final Thread thread = Thread.currentThread();
    private final Runnable burst;

    /** The mailbox of this thread; {@code burst} is run by the neighbour, all of it before the mailbox thread goes on. */
    public ArrivingMailbox(Runnable burst) {
        super(Thread.currentThread());
        this.burst = burst;
    }

    @Override
    public Mail take(int priority) throws InterruptedException {
        if (!hasMailOf(priority)) {
            Thread neighbour = new Thread(() -> arrive(priority));
            neighbour.start();
            Mail mail = super.take(priority);
            neighbour.join();
            return mail;
        }
        return super.take(priority);
    }

    @SuppressWarnings("unchecked")
    public boolean hasMailOf(int priority) {
        try {
            for (String name : new String[] {"batch", "queue"}) {
                Field field = TaskMailboxImpl.class.getDeclaredField(name);
                field.setAccessible(true);
                for (Mail mail : (Collection<Mail>) field.get(this)) {
                    if (mail.getPriority() >= priority) {
                        return true;
                    }
                }
            }
            return false;
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    private void arrive(int priority) {
        boolean[] ended = {false};
        while (!ended[0]) {
            while (thread.getState() != Thread.State.TIMED_WAITING) {
                Thread.onSpinWait();
            }
            runExclusively(
                    () -> {
                        burst.run();
                        ended[0] = hasMailOf(priority);
                    });
        }
    }
}
