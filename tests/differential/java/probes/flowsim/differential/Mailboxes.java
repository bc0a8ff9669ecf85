package flowsim.differential;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.flink.api.common.operators.MailboxExecutor.MailOptions;
import org.apache.flink.streaming.runtime.tasks.mailbox.Mail;
import org.apache.flink.streaming.runtime.tasks.mailbox.TaskMailboxImpl;

/** A real mailbox whose mails do nothing and are told apart by their names. */
public final class Mailboxes {
    private final TaskMailboxImpl mailbox = new TaskMailboxImpl(Thread.currentThread());

    public void put(String options, int priority, String name, boolean inside) throws Exception {
        MailOptions chosen = (MailOptions) MailOptions.class.getMethod(options).invoke(null);
        Mail mail = new Mail(chosen, () -> {}, priority, name);
        Threads.act(inside, () -> mailbox.put(mail));
    }

    public Optional<Mail> tryTake(int priority) {
        return mailbox.tryTake(priority);
    }

    public Mail take(int priority) throws InterruptedException {
        return mailbox.take(priority);
    }

    public boolean createBatch() {
        return mailbox.createBatch();
    }

    public Optional<Mail> tryTakeFromBatch() {
        return mailbox.tryTakeFromBatch();
    }

    public List<String> drain() {
        return names(mailbox.drain());
    }

    public List<String> close() {
        return names(mailbox.close());
    }

    public void quiesce() {
        mailbox.quiesce();
    }

    public int size() {
        return mailbox.size();
    }

    public boolean hasMail() {
        return mailbox.hasMail();
    }

    public String getState() {
        return mailbox.getState().name();
    }

    private static List<String> names(List<Mail> mails) {
        List<String> names = new ArrayList<>();
        mails.forEach(mail -> names.add(mail.toString()));
        return names;
    }
}
