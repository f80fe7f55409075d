(** The rule lp-dual of package cert: links, ports and whatever else holds a limited number of
    chunks at a time have prices at some instants, and each demand, a contribution that a rank needs
    of a chunk, pays its share of what its chunk occupies then. If the cheapest ways that are in time
    cost more in all than there is to pay for, no schedule is in time. This is weak duality for the
    linear program of flows over time. *)
From Coq Require Import Bool List ZArith Lia.
From Oraccl Require Import Cut Round Timed Schedule Passing Bounds Replay InRounds Copying Adding Loose Coverage Cover Prices RoundTime RoundsInTime LooseInRounds.
Import ListNotations.
Open Scope Z_scope.

(** Prices at instants. *)
Definition tariff := list (Z * Z).
Definition inside (s : span) (x : Z) : bool := (first s <=? x) && (x <? first s + long s).
(** What occupies something at these times pays. *)
Definition costs_when (l : tariff) (f : Z -> bool) : Z := sum (fun e => if f (fst e) then snd e else 0) l.
Definition costs (l : tariff) (s : span) : Z := costs_when l (inside s).
Definition at_instant (l : tariff) (x : Z) : Z := sum (fun e => if fst e =? x then snd e else 0) l.
Definition paying (l : tariff) : bool := forallb (fun e => 0 <=? snd e) l.

Lemma costs_more l f g : paying l = true -> (forall x, f x = true -> g x = true) -> costs_when l f <= costs_when l g.
Proof.
  unfold paying. rewrite forallb_forall. intros H I. apply sum_le. intros e He. specialize (H e He). apply Z.leb_le in H.
  specialize (I (fst e)). destruct (f (fst e)); [rewrite I by reflexivity; lia|]. destruct (g (fst e)); lia.
Qed.
Lemma costs_when_0 l f : paying l = true -> 0 <= costs_when l f.
Proof.
  unfold paying. rewrite forallb_forall. intros H. apply sum_pos. intros e He. specialize (H e He).
  apply Z.leb_le in H. destruct (f (fst e)); lia.
Qed.
Lemma costs_0 l s : paying l = true -> 0 <= costs l s.
Proof. apply costs_when_0. Qed.
Lemma at_instant_0 l x : paying l = true -> 0 <= at_instant l x.
Proof.
  unfold paying. rewrite forallb_forall. intros H. apply sum_pos. intros e He. specialize (H e He).
  apply Z.leb_le in H. destruct (fst e =? x); lia.
Qed.
Lemma at_instant_none l x : ~ In x (map fst l) -> at_instant l x = 0.
Proof.
  intros H. apply sum_zero. intros e He. destruct (Z.eqb_spec (fst e) x) as [E|]; auto. exfalso. apply H, in_map_iff. eauto.
Qed.
Lemma one_of {A} (dec : forall a b : A, {a = b} + {a <> b}) (f : A -> Z) a ks : NoDup ks ->
  sum (fun k => if dec a k then f k else 0) ks = if in_dec dec a ks then f a else 0.
Proof.
  induction 1 as [|k ks Hk _ IH]; [reflexivity|].
  change (sum _ (k :: ks)) with ((if dec a k then f k else 0) + sum (fun k => if dec a k then f k else 0) ks). rewrite IH.
  destruct (dec a k) as [->|Hn], (in_dec dec _ ks) as [I|I], (in_dec dec _ (_ :: ks)) as [J|J]; simpl in J; try tauto; try lia.
  all: destruct J as [J|J]; [congruence|tauto].
Qed.
Lemma sum_plus {A} (f g : A -> Z) l : sum (fun x => f x + g x) l = sum f l + sum g l.
Proof. induction l as [|x l IH]; [reflexivity|]. cbn [sum fold_right]. unfold sum in IH. rewrite IH. lia. Qed.
(** By instant. *)
Lemma costs_by l f ks : NoDup ks -> incl (map fst l) ks -> costs_when l f = sum (fun x => if f x then at_instant l x else 0) ks.
Proof.
  intros N. unfold costs_when, at_instant. induction l as [|e l IH]; intros I.
  - symmetry. apply sum_zero. intros x _. destruct (f x); reflexivity.
  - cbn [sum fold_right]. fold (sum (fun e => if f (fst e) then snd e else 0) l).
    rewrite IH by (intros x Hx; apply I; right; auto).
    symmetry. transitivity (sum (fun x => (if Z.eq_dec (fst e) x then if f x then snd e else 0 else 0) +
      (if f x then sum (fun e => if fst e =? x then snd e else 0) l else 0)) ks).
    + apply sum_eq. intros x _. fold (sum (fun e => if fst e =? x then snd e else 0) l).
      destruct (Z.eq_dec (fst e) x) as [->|Hn]; [rewrite Z.eqb_refl|rewrite (proj2 (Z.eqb_neq _ _) Hn)]; destruct (f x); lia.
    + rewrite sum_plus, (one_of Z.eq_dec (fun x => if f x then snd e else 0) _ _ N).
      destruct (in_dec Z.eq_dec (fst e) ks) as [_|Hn]; [reflexivity|]. destruct Hn. apply I. left. reflexivity.
Qed.
(** No more at any instant, no more at any times. *)
Lemma costs_less a b f : paying b = true -> (forall x, In x (map fst a) -> at_instant a x <= at_instant b x) -> costs_when a f <= costs_when b f.
Proof.
  intros P H. set (ks := nodup Z.eq_dec (map fst a ++ map fst b)).
  assert (I : forall l, incl l (map fst a ++ map fst b) -> incl l ks) by (intros l Hl x Hx; apply nodup_In; auto).
  rewrite (costs_by a f ks), (costs_by b f ks); try apply NoDup_nodup; try (apply I; intros x Hx; apply in_or_app; auto).
  apply sum_le. intros x _. destruct (f x); [|lia]. destruct (in_dec Z.eq_dec x (map fst a)) as [Hx|Hx]; auto.
  rewrite at_instant_none by exact Hx. apply at_instant_0, P.
Qed.
Lemma costs_flat {A} (g : A -> tariff) l f : costs_when (flat_map g l) f = sum (fun x => costs_when (g x) f) l.
Proof. apply sum_flat_map. Qed.

(** What is for sale: at each instant these links, to no more than [places] at once, for a price. *)
Record good := Good { over_links : list nat; places : nat; asked : tariff }.

Section Job.
Variable j : job.
Hypothesis sane : positive j.
Notation at_link := (at_link j).
Variable goods : list good.
(** What a link costs: its own prices and those of its ports. *)
Definition price_of_link (i : nat) : tariff :=
  flat_map (fun g => if existsb (Nat.eqb i) (over_links g) then asked g else []) goods.
(** All that can be paid. *)
Definition supply : Z := sum (fun g => Z.of_nat (places g) * sum snd (asked g)) goods.
Hypothesis fair : forall g, In g goods -> paying (asked g) = true.

Lemma price_paying i : paying (price_of_link i) = true.
Proof.
  unfold paying, price_of_link. apply forallb_forall. intros e He. apply in_flat_map in He. destruct He as [g [Hg He]].
  destruct (existsb _ _); [|destruct He]. specialize (fair g Hg). unfold paying in fair. rewrite forallb_forall in fair. auto.
Qed.

(** What occupies each link: one chunk at a time, and no more links of a good than there are places. *)
Variable occupied : nat -> nat -> Z -> bool. (* by chunk and link *)
Hypothesis one_chunk : forall k k' i x, occupied k i x = true -> occupied k' i x = true -> k = k'.
Variable busy_at : list nat -> Z -> list nat.
Hypothesis is_busy : forall ls k i x, In i ls -> occupied k i x = true -> In i (busy_at ls x).
Definition chunk_pays (k : nat) : Z := sum (fun i => costs_when (price_of_link i) (occupied k i)) (seq 0 (length (links j))).

(** All pay no more than that. *)
Lemma all_pay ks : NoDup ks -> (forall g, In g goods -> forall x, (length (busy_at (over_links g) x) <= places g)%nat) ->
  sum chunk_pays ks <= supply.
Proof.
  intros N H. unfold supply, chunk_pays. set (is := seq 0 (length (links j))).
  apply Z.le_trans with (sum (fun g => sum (fun e => snd e * sum (fun k => sum (fun i =>
    if existsb (Nat.eqb i) (over_links g) && occupied k i (fst e) then 1 else 0) is) ks) (asked g)) goods).
  - rewrite (sum_eq _ (fun k => sum (fun g => sum (fun i => if existsb (Nat.eqb i) (over_links g) then costs_when (asked g) (occupied k i) else 0) is) goods)).
    2:{ intros k _. rewrite sum_swap. apply sum_eq. intros i _. unfold price_of_link. rewrite costs_flat. apply sum_eq. intros g _.
        destruct (existsb _ _); reflexivity. }
    rewrite sum_swap. apply sum_le. intros g _. apply Z.eq_le_incl.
    rewrite (sum_eq _ (fun k => sum (fun e => snd e * sum (fun i => if existsb (Nat.eqb i) (over_links g) && occupied k i (fst e) then 1 else 0) is) (asked g))).
    + rewrite sum_swap. apply sum_eq. intros e _. apply sum_mul.
    + intros k _. rewrite (sum_eq _ (fun i => sum (fun e => snd e * (if existsb (Nat.eqb i) (over_links g) && occupied k i (fst e) then 1 else 0)) (asked g))).
      * rewrite sum_swap. apply sum_eq. intros e _. apply sum_mul.
      * intros i _. destruct (existsb _ _); cbn [andb].
        -- apply sum_eq. intros e _. destruct (occupied k i (fst e)); lia.
        -- symmetry. apply sum_zero. intros e _. lia.
  - apply sum_le. intros g Hg. rewrite <- sum_mul. apply sum_le. intros e He. specialize (H g Hg (fst e)). specialize (fair g Hg).
    unfold paying in fair. rewrite forallb_forall in fair. specialize (fair e He). apply Z.leb_le in fair.
    set (f := fun p : nat * nat => existsb (Nat.eqb (snd p)) (over_links g) && occupied (fst p) (snd p) (fst e)).
    assert (Q : sum (fun k => sum (fun i => if existsb (Nat.eqb i) (over_links g) && occupied k i (fst e) then 1 else 0) is) ks =
      Z.of_nat (length (filter f (list_prod ks is)))).
    { rewrite <- sum_one, sum_filter. clear. induction ks as [|k ks IH]; [reflexivity|]. cbn [list_prod]. rewrite sum_app, <- IH, sum_map. reflexivity. }
    rewrite Q. enough (length (filter f (list_prod ks is)) <= places g)%nat by nia.
    eapply Nat.le_trans; [|exact H]. rewrite <- (map_length snd). apply NoDup_incl_length.
    + assert (D : NoDup (filter f (list_prod ks is))) by (apply NoDup_filter, once_prod; [exact N|apply seq_NoDup]).
      assert (F : forall p, In p (filter f (list_prod ks is)) -> f p = true) by (intros p Hp; apply filter_In in Hp; apply Hp).
      revert D F. generalize (filter f (list_prod ks is)). induction l as [|p l IH]; intros D F; cbn [map]; [constructor|].
      inversion D as [|? ? Hn D']; subst. constructor; [|apply IH; auto; intros q Hq; apply F; right; auto].
      intros Hin. apply in_map_iff in Hin. destruct Hin as [q [Eq Hq]]. apply Hn. replace p with q; [exact Hq|].
      pose proof (F p (or_introl eq_refl)) as P. pose proof (F q (or_intror Hq)) as P'. unfold f in P, P'. rewrite andb_true_iff in P, P'.
      rewrite Eq in P'. pose proof (one_chunk _ _ _ _ (proj2 P) (proj2 P')). destruct p, q. simpl in *. congruence.
    + intros i Hi. apply in_map_iff in Hi. destruct Hi as [p [<- Hp]]. apply filter_In in Hp. destruct Hp as [_ Hp]. unfold f in Hp.
      apply andb_true_iff in Hp. destruct Hp as [Hp Ho]. apply existsb_exists in Hp. destruct Hp as [i [Hi Ei]]. apply Nat.eqb_eq in Ei. subst i.
      apply (is_busy _ (fst p)); auto.
Qed.

(** ** What the ways of one demand cost *)

Section Demand.
Variable share : nat -> tariff. (* by link *)
Hypothesis share_paying : forall i, paying (share i) = true.
Variable b : Z.    (* bytes of the chunk *)
Hypothesis some_bytes : 0 <= b.
Variable T : Z.    (* no later *)
Variable big : Z.  (* more than can be paid *)

(** Costs that fall in steps: each from its time on. *)
Definition steps := list (Z * Z).
Definition cost_at (l : steps) (x : Z) : Z := fold_right (fun e m => if fst e <=? x then Z.min (snd e) m else m) big l.
Lemma cost_at_big l x : cost_at l x <= big.
Proof. induction l as [|e l IH]; cbn [cost_at fold_right]; [lia|]. fold (cost_at l x). destruct (fst e <=? x); lia. Qed.
Lemma cost_at_falls l x y : x <= y -> cost_at l y <= cost_at l x.
Proof.
  intros H. induction l as [|e l IH]; cbn [cost_at fold_right]; [lia|]. fold (cost_at l x) (cost_at l y).
  destruct (Z.leb_spec (fst e) x), (Z.leb_spec (fst e) y); lia.
Qed.
Lemma cost_at_still l x : ~ In (x + 1) (map fst l) -> cost_at l (x + 1) = cost_at l x.
Proof.
  induction l as [|e l IH]; cbn [map In cost_at fold_right]; [auto|]. intros H. fold (cost_at l x) (cost_at l (x + 1)). rewrite IH by tauto.
  destruct (Z.leb_spec (fst e) x), (Z.leb_spec (fst e) (x + 1)); auto; [lia|]. assert (fst e = x + 1) by lia. tauto.
Qed.

Definition lasts (h : list nat) : Z := latencies j h + slowest j b h.
Definition uses_from (h : list nat) (x : Z) : list use := along j (slowest j b h) x h.
Definition pays_from (h : list nat) (x : Z) : Z := sum (fun a => costs (share (fst a)) (snd a)) (uses_from h x).
(** The starts at which a hop pays less than a picosecond before. *)
Definition cheaper (h : list nat) : list Z :=
  flat_map (fun a => map (fun e => fst e - first (snd a) + 1) (share (fst a))) (uses_from h 0).
Definition due_at (v : nat) : Z := if is_rank j v then arrival j v else 0.
Definition earliest_of (u : nat) (h : list nat) : Z := Z.max 0 (Z.max (due_at u) (due_at (far j u h))).
Definition starts_of (from : steps) (u : nat) (h : list nat) : list Z :=
  earliest_of u h :: filter (Z.ltb (earliest_of u h)) (map fst from ++ cheaper h).
Definition hop_ok (table : list steps) (u : nat) (h : list nat) : bool :=
  let from := nth u table [] in let to := nth (far j u h) table [] in
  forallb (fun x => (T <? x + lasts h) || (cost_at to (x + lasts h) <=? cost_at from x + pays_from h x)) (starts_of from u h).

Lemma pays_0 us : 0 <= sum (fun a : use => costs (share (fst a)) (snd a)) us.
Proof. apply sum_pos. intros a _. apply costs_0, share_paying. Qed.

Lemma along_moves slow h : forall x d, along j slow (x + d) h = map (fun a => (fst a,
Span (first (snd a) + d) (long (snd a)))) (along j slow x h).
Proof.
  induction h as [|i h IH]; intros x d; [reflexivity|]. cbn [along map fst snd first long]. f_equal. rewrite <- IH. f_equal. lia.
Qed.
Lemma pays_next h x : ~ In (x + 1) (cheaper h) -> pays_from h x <= pays_from h (x + 1).
Proof.
  unfold pays_from, cheaper, uses_from. intros H. replace x with (0 + x) at 1 by lia. replace (x + 1) with (0 + (x + 1)) at 1 by lia.
  rewrite !along_moves, !sum_map. apply sum_le. intros a Ha. cbn [fst snd]. unfold costs. apply sum_le. intros e He.
  unfold inside. cbn [first long].
  pose proof (share_paying (fst a)) as P. unfold paying in P. rewrite forallb_forall in P. specialize (P e He). apply Z.leb_le in P.
  destruct (Z.leb_spec (first (snd a) + x) (fst e)), (Z.ltb_spec (fst e) (first (snd a) + x + long (snd a))); cbn [andb];
  try (destruct (_ && _); lia).
  destruct (Z.leb_spec (first (snd a) + (x + 1)) (fst e)).
  - rewrite (proj2 (Z.ltb_lt _ _)) by lia. simpl. lia.
  - exfalso. apply H. apply in_flat_map. exists a. split; [exact Ha|]. apply in_map_iff. exists e. split; [lia|exact He].
Qed.

Lemma hop_costs table u h x : hop_ok table u h = true -> earliest_of u h <= x -> x + lasts h <= T ->
  cost_at (nth (far j u h) table []) (x + lasts h) <= cost_at (nth u table []) x + pays_from h x.
Proof.
  unfold hop_ok. rewrite forallb_forall. intros H. set (to := nth (far j u h) table []). set (from := nth u table []) in *.
  assert (P : forall s, In s (starts_of from u h) -> s + lasts h <= T -> cost_at to (s + lasts h) <= cost_at from s + pays_from h s).
  { intros s Hs Ht. specialize (H s Hs). apply orb_true_iff in H. destruct H as [H|H]; [apply Z.ltb_lt in H; lia|apply Z.leb_le, H]. }
  intros Hx. set (s0 := earliest_of u h) in *. replace x with (s0 + (x - s0)) by lia. assert (Hd : 0 <= x - s0) by lia.
  generalize dependent (x - s0). clear x Hx.
  intros d Hd. pattern d. apply natlike_ind; [| |exact Hd].
  - intros Ht. rewrite Z.add_0_r in *. apply P; auto. left. reflexivity.
  - clear d Hd. intros d Hd IH Ht. replace (s0 + Z.succ d) with ((s0 + d) + 1) in * by lia. specialize (IH ltac:(lia)).
    destruct (in_dec Z.eq_dec (s0 + d + 1) (map fst from ++ cheaper h)) as [I|I].
    + apply P; auto. right. apply filter_In. split; auto. apply Z.ltb_lt. fold s0. lia.
    + rewrite in_app_iff in I. rewrite (cost_at_still from) by tauto. pose proof (pays_next h (s0 + d) ltac:(tauto)).
      pose proof (cost_at_falls to (s0 + d + lasts h) (s0 + d + 1 + lasts h) ltac:(lia)). lia.
Qed.

(** ** All hops *)

Definition outs (v : nat) : list nat := filter (fun i => (Cut.src (at_link i) =? v)%nat) (seq 0 (length (links j))).
Fixpoint all_of {A B} (f : A -> option (list B)) (l : list A) : option (list B) :=
  match l with
  | [] => Some []
  | x :: l => match f x, all_of f l with Some a, Some r => Some (a ++ r) | _, _ => None end
  end.
(** The ways from a node to the next ranks that visit no node twice; nothing if there are more than
    n links on one. *)
Fixpoint ways (n : nat) (v : nat) (seen : list nat) : option (list (list nat)) :=
  match n with
  | O => None
  | S n => all_of (fun i => let w := Cut.dst (at_link i) in
      if existsb (Nat.eqb w) seen then Some [] else if is_rank j w then Some [[i]]
      else option_map (map (cons i)) (ways n w (w :: seen))) (outs v)
  end.
Lemma all_of_in {A B} (f : A -> option (list B)) l : forall r x a y, all_of f l = Some r -> In x l -> f x = Some a -> In y a -> In y r.
Proof.
  induction l as [|z l IH]; intros r x a y H Hx Hf Hy; [destruct Hx|]. cbn [all_of] in H. destruct (f z) as [c|] eqn:E; [|discriminate].
  destruct (all_of f l) as [s|] eqn:E'; [|discriminate]. injection H as <-. apply in_or_app. destruct Hx as [->|Hx]; [|eauto].
  left. congruence.
Qed.
Lemma all_of_each {A B} (f : A -> option (list B)) l r x : all_of f l = Some r -> In x l -> exists a, f x = Some a.
Proof.
  revert r. induction l as [|z l IH]; intros r H Hx; [destruct Hx|]. cbn [all_of] in H. destruct (f z) as [c|] eqn:E; [|discriminate].
  destruct (all_of f l) as [s|] eqn:E'; [|discriminate]. destruct Hx as [->|Hx]; eauto.
Qed.
Lemma ways_all n : forall v seen r h w, ways n v seen = Some r -> h <> [] -> leads j v h w -> over_switches j h -> is_rank j (far j v h) = true ->
  NoDup (map (fun i => Cut.dst (at_link i)) h) -> (forall x, In x (map (fun i => Cut.dst (at_link i)) h) -> ~ In x seen) -> In h r.
Proof.
  induction n as [|n IH]; intros v seen r h w H Hh Hl Ho Hr Nd Hs; [discriminate|]. destruct h as [|i h]; [congruence|].
  destruct Hl as [Hi [Hsrc Hl]]. destruct Ho as [Ho Ho']. cbn [map] in Nd, Hs. apply NoDup_cons_iff in Nd.
  destruct Nd as [Ni Nd]. cbn [ways] in H.
  assert (I : In i (outs v)) by (apply filter_In; split; [apply in_seq; lia|apply Nat.eqb_eq, Hsrc]).
  destruct (all_of_each _ _ _ _ H I) as [a Ha]. apply (all_of_in _ _ _ _ _ _ H I Ha). revert Ha.
  assert (E : existsb (Nat.eqb (Cut.dst (at_link i))) seen = false).
  { apply not_true_iff_false. rewrite existsb_exists. intros [x [Hx Ex]]. apply Nat.eqb_eq in Ex. subst x.
  apply (Hs _ (or_introl eq_refl) Hx). }
  cbv zeta. rewrite E. destruct Ho as [->|Ho].
  - cbn [far] in Hr. rewrite Hr. intros [= <-]. left. reflexivity.
  - rewrite Ho. destruct h as [|i' h]; [cbn [far] in Hr; congruence|].
    destruct (ways n (Cut.dst (at_link i)) (Cut.dst (at_link i) :: seen)) as [r'|] eqn:W; [|discriminate]. intros [= <-]. apply in_map.
    apply (IH _ _ _ (i' :: h) w W); auto; [discriminate|]. intros x Hx [<-|Hin]; [contradiction|]. apply (Hs x (or_intror Hx) Hin).
Qed.

(** By rank the hops that leave it. *)
Definition find_hops : option (list (list (list nat))) :=
  all_of (fun u => option_map (fun r => [r]) (ways (size_of_net j) u [u])) (seq 0 (nodes j)).
Lemma find_hops_ways hs : find_hops = Some hs -> forall u, (u < nodes j)%nat -> ways (size_of_net j) u [u] = Some (nth u hs []).
Proof.
  unfold find_hops. assert (G : forall l k hs, all_of (fun u => option_map (fun r => [r]) (ways (size_of_net j) u [u])) (seq k l) = Some hs ->
    forall u, (u < l)%nat -> ways (size_of_net j) (k + u) [(k + u)%nat] = Some (nth u hs [])).
  { induction l as [|l IH]; intros k hs' H u Hu; [lia|]. cbn [seq all_of] in H.
  destruct (ways (size_of_net j) k [k]) as [r|] eqn:W; [|discriminate].
    cbn [option_map] in H. destruct (all_of _ (seq (S k) l)) as [s|] eqn:E; [|discriminate]. injection H as <-. destruct u as [|u].
    - rewrite Nat.add_0_r. exact W.
    - replace (k + S u)%nat with (S k + u)%nat by lia. apply (IH _ _ E). lia. }
  intros H u Hu. apply (G _ 0%nat _ H u Hu).
Qed.

Variable hs : list (list (list nat)).
Hypothesis hs_all : find_hops = Some hs.

Definition table_ok (table : list steps) (holders : list nat) : bool :=
  forallb (fun u => cost_at (nth u table []) 0 <=? 0) holders &&
  forallb (fun u => forallb (hop_ok table u) (nth u hs [])) (seq 0 (nodes j)).

(** ** What a chunk has paid of a demand's share *)

Variable net : network.
Variable sch : list sent.
Hypothesis good_sch : loose j net (uses_of j) sch.
Hypothesis no_node_twice : forall t, In t sch -> NoDup (visited j (src (tr (data t))) (route t)).
Variable k : nat.
Hypothesis b_of_k : size j k = b.
Hypothesis occupies : forall t a x, In t sch -> In a (uses_of j t) -> inside (snd a) x = true -> occupied (what (tr (data t))) (fst a) x = true.
Definition toll (t : sent) : Z := sum (fun a => costs (share (fst a)) (snd a)) (uses_of j t).
(** Up to a time, at each instant once for each link. *)
Definition spent_on (x : Z) (i : nat) : Z := costs_when (share i) (fun y => (y <? x) && occupied k i y).
Definition spent (x : Z) : Z := sum (spent_on x) (seq 0 (length (links j))).

Lemma spent_on_more x y i : x <= y -> spent_on x i <= spent_on y i.
Proof.
  intros H. apply costs_more; auto. intros z. rewrite !andb_true_iff, !Z.ltb_lt. intuition lia.
Qed.
Lemma one_kept (us : list use) i : NoDup (map fst us) -> filter (fun a : use => (fst a =? i)%nat) us = [] \/
  exists a, In a us /\ fst a = i /\ filter (fun a : use => (fst a =? i)%nat) us = [a].
Proof.
  induction us as [|a us IH]; intros N; [left; reflexivity|]. cbn [map] in N. inversion N as [|? ? Hn N']; subst. cbn [filter].
  destruct (Nat.eqb_spec (fst a) i) as [E|E].
  - right. exists a. split; [left; auto|]. split; [exact E|]. f_equal. destruct (IH N') as [F|[c [Hc [Ec _]]]]; [exact F|].
    destruct Hn. rewrite E, <- Ec. apply in_map, Hc.
  - destruct (IH N') as [F|[c [Hc [Ec F]]]]; [left; exact F|]. right. exists c. split; [right; auto|]. auto.
Qed.
Lemma spent_step t x : In t sch -> what (tr (data t)) = k -> ends (data t) <= x -> spent (begins (data t)) + toll t <= spent x.
Proof.
  intros Hin Hk He. pose proof (proj1 (take_time _ _ _ _ good_sch t Hin)) as Tt.
  unfold toll. rewrite (sum_by (fun a : use => fst a) _ (seq 0 (length (links j))) (uses_of j t) (seq_NoDup _ _)).
  - unfold spent. rewrite <- sum_plus. apply sum_le. intros i _.
    destruct (one_kept (uses_of j t) i) as [->|[a [Ha [<- ->]]]].
    { rewrite uses_of_route. apply (have_routes _ _ _ _ good_sch t Hin). }
    { cbn [sum fold_right]. pose proof (spent_on_more (begins (data t)) x i ltac:(lia)). lia. }
    cbn [sum fold_right]. rewrite Z.add_0_r. unfold spent_on, costs, costs_when. rewrite <- sum_plus. apply sum_le. intros e He'.
    assert (P : 0 <= snd e).
    { pose proof (share_paying (fst a)) as Q. unfold paying in Q. rewrite forallb_forall in Q. apply Z.leb_le, Q, He'. }
    destruct a as [i sp]. cbn [fst snd] in *.
    destruct (are_inside j net sane _ sch good_sch t i sp Hin Ha) as [I1 [_ I2]].
    assert (T0 : 0 <= tail j i) by (unfold tail; pose proof (onward_0 j sane (Cut.dst (at_link i))); pose proof (sane_link j sane i); destruct (model j); lia).
    pose proof (occupies t (i, sp) (fst e) Hin Ha) as O. cbn [fst snd] in O. rewrite Hk in O. unfold inside in *.
    destruct (Z.leb_spec (first sp) (fst e)), (Z.ltb_spec (fst e) (first sp + long sp)); cbn [andb] in *.
    + rewrite (O eq_refl). destruct (Z.ltb_spec (fst e) (begins (data t))), (Z.ltb_spec (fst e) x); cbn [andb]; lia.
    + destruct (Z.ltb_spec (fst e) (begins (data t))), (Z.ltb_spec (fst e) x); cbn [andb]; try lia; destruct (occupied k i (fst e)); lia.
    + destruct (Z.ltb_spec (fst e) (begins (data t))), (Z.ltb_spec (fst e) x); cbn [andb]; try lia; destruct (occupied k i (fst e)); lia.
    + destruct (Z.ltb_spec (fst e) (begins (data t))), (Z.ltb_spec (fst e) x); cbn [andb]; try lia; destruct (occupied k i (fst e)); lia.
  - intros a Ha. apply in_seq. split; [lia|]. apply (in_map fst) in Ha. rewrite uses_of_route in Ha. apply (in_route j net _ sch good_sch t _ Hin Ha).
Qed.

Lemma hops_cost table : (forall u, (u < nodes j)%nat -> forallb (hop_ok table u) (nth u hs []) = true) ->
  forall hops from u v, leads j u (concat hops) v -> (forall h, In h hops -> h <> [] /\ over_switches j h /\ forall w,
  is_rank j (far j w h) = true) ->
  is_rank j u = true -> NoDup (visited j u (concat hops)) -> 0 <= from ->
  (forall w, In w (visited j u (concat hops)) -> is_rank j w = true -> arrival j w <= from) -> from + lasting j b hops <= T ->
  cost_at (nth v table []) (from + lasting j b hops) <= cost_at (nth u table []) from + sum (fun a => costs (share (fst a)) (snd a)) (busy_hops j b from hops).
Proof.
  intros Ok. induction hops as [|h hops IH]; intros from u v Hl Hh Hu Nd F0 Ha Ht.
  - simpl in Hl. subst v. unfold lasting. cbn. rewrite Z.add_0_r. lia.
  - cbn [concat] in Hl. destruct (leads_app j _ _ _ _ Hl) as [w [L1 L2]]. destruct (Hh h (or_introl eq_refl)) as [H1 [H2 H3]].
    pose proof (leads_far j _ _ _ L1) as Ew. specialize (H3 u). pose proof (proj1 (Nat.ltb_lt _ _) Hu) as Hu'.
    unfold visited in Nd. cbn [concat] in Nd. rewrite map_app in Nd. apply NoDup_cons_iff in Nd. destruct Nd as [Nu Nd].
    assert (V : forall x, In x (map (fun i => Cut.dst (at_link i)) h) -> In x (visited j u (concat (h :: hops)))).
    { intros x Hx. right. cbn [concat]. rewrite map_app. apply in_or_app. auto. }
    assert (Wd : In w (map (fun i => Cut.dst (at_link i)) h)).
    { rewrite <- Ew. clear - H1. revert u. induction h as [|i h IHh]; intros u; [congruence|]. cbn [far map].
    destruct h as [|i' h]; [left; auto|].
      right. apply IHh. discriminate. }
    assert (Nh : NoDup (map (fun i => Cut.dst (at_link i)) h)).
    { clear - Nd. induction (map (fun i => Cut.dst (at_link i)) h) as [|x l IHl]; [constructor|]. cbn [app] in Nd.
    apply NoDup_cons_iff in Nd.
      destruct Nd as [A B]. constructor; auto. intros Hx. apply A, in_or_app. auto. }
    assert (In h (nth u hs [])).
    { apply (ways_all _ _ _ _ _ w (find_hops_ways hs hs_all u Hu')); auto. intros x Hx [<-|[]]. apply Nu, in_or_app. auto. }
    specialize (Ok u Hu'). pose proof Ok as Ok'. rewrite forallb_forall in Ok'. specialize (Ok' h H).
    unfold lasting in *. cbn [sum fold_right] in *. fold (sum (fun h => latencies j h + slowest j b h) hops) in *.
    assert (L0 : 0 <= sum (fun h => latencies j h + slowest j b h) hops) by apply (lasting_0 j sane b hops).
    pose proof (latencies_0 j sane h) as La. pose proof (slowest_0 j b h) as Sl.
    assert (E : earliest_of u h <= from).
    { unfold earliest_of, due_at. rewrite Ew in *. rewrite Hu, H3. pose proof (Ha u (or_introl eq_refl) Hu).
    pose proof (Ha w (V w Wd) H3). lia. }
    pose proof (hop_costs table u h from Ok' E) as C. unfold lasts in C. specialize (C ltac:(lia)). rewrite Ew in C, H3.
    assert (Nw : NoDup (visited j w (concat hops))).
    { unfold visited. clear - Nd Wd. apply NoDup_cons_iff. split.
      - intros Hx. apply in_split in Wd. destruct Wd as [l1 [l2 E]]. rewrite E in Nd. rewrite <- app_assoc in Nd. cbn [app] in Nd.
        apply NoDup_remove_2 in Nd. apply Nd. rewrite !in_app_iff. auto.
      - clear - Nd. induction (map (fun i => Cut.dst (at_link i)) h) as [|x l IHl]; auto. inversion Nd; auto. }
    specialize (IH (from + (latencies j h + slowest j b h)) w v L2 (fun h' H' => Hh h' (or_intror H')) H3 Nw ltac:(lia)).
    replace (from + (latencies j h + slowest j b h + sum (fun h => latencies j h + slowest j b h) hops))
      with (from + (latencies j h + slowest j b h) + sum (fun h => latencies j h + slowest j b h) hops) by lia.
    cbn [busy_hops]. rewrite sum_app. fold (uses_from h from). fold (pays_from h from).
    enough (cost_at (nth v table []) (from + (latencies j h + slowest j b h) + sum (fun h => latencies j h + slowest j b h) hops) <=
      cost_at (nth w table []) (from + (latencies j h + slowest j b h)) +
      sum (fun a => costs (share (fst a)) (snd a)) (busy_hops j b (from + (latencies j h + slowest j b h)) hops)) by lia.
    apply IH; [|lia]. intros x Hx Rx. apply Z.le_trans with from; [|lia]. apply Ha; auto. destruct Hx as [<-|Hx]; [apply V, Wd|].
    right. cbn [concat]. rewrite map_app. apply in_or_app. auto.
Qed.

Lemma demand_pays table c holders v x : table_ok table holders = true ->
  (forall u w, In ((u, k), w) (pre j) -> contains w c -> In u holders) -> x <= T ->
  holds j (map data sch) c v k x -> cost_at (nth v table []) x <= spent x.
Proof.
  intros Hok Hst Hx H. apply andb_true_iff in Hok. destruct Hok as [Ok0 Ok]. rewrite forallb_forall in Ok0, Ok.
  assert (Ok' : forall u, (u < nodes j)%nat -> forallb (hop_ok table u) (nth u hs []) = true) by (intros u Hu; apply Ok, in_seq; lia).
  remember k as k' eqn:E in H. induction H as [v k' x w Hl Hc Hx0|t x Ht H0 IH He].
  - subst k'. apply lookup_In in Hl. specialize (Ok0 v (Hst _ _ Hl Hc)). apply Z.leb_le in Ok0.
    pose proof (cost_at_falls (nth v table []) 0 x Hx0).
    assert (0 <= spent x) by (apply sum_pos; intros i _; apply costs_when_0; auto). lia.
  - apply in_map_iff in Ht. destruct Ht as [s [<- Hs]].
    destruct (are_transfers _ _ _ _ good_sch s Hs) as [_ [Su [Sv _]]]. pose proof (proj1 (have_routes _ _ _ _ good_sch s Hs)) as Hl.
    destruct (take_time _ _ _ _ good_sch s Hs) as [Hb Hd]. pose proof (wait_for_ranks _ _ _ _ good_sch s Hs) as Ha.
    specialize (IH ltac:(lia) E). apply Nat.ltb_lt in Su, Sv.
    pose proof (hops_cost table Ok' (hops j (route s)) (begins (data s)) _ _ ltac:(rewrite concat_hops; exact Hl)
      (hops_shape j _ _ _ Hl Sv) Su ltac:(rewrite concat_hops; apply no_node_twice, Hs) ltac:(lia)) as P. rewrite concat_hops in P.
    specialize (P (fun w Hw Rw => Ha w Hw Rw)). rewrite E, b_of_k in Hd. unfold lasting in P. unfold duration in Hd.
    specialize (P ltac:(lia)).
    pose proof (spent_step s x Hs E He) as Q.
    replace (sum (fun a => costs (share (fst a)) (snd a)) (busy_hops j b (begins (data s)) (hops j (route s)))) with (toll s) in P
      by (unfold toll, uses_of; rewrite E, b_of_k; reflexivity).
    pose proof (cost_at_falls (nth (dst (tr (data s))) table [])
      (begins (data s) + sum (fun h => latencies j h + slowest j b h) (hops j (route s))) x ltac:(lia)). lia.
Qed.
End Demand.

(** ** Tables, found by relaxation *)

Section Find.
Variable share : nat -> tariff.
Variables b T big : Z.
(** Found by relaxation, which has no proof: [table_ok] looks at what it yields. *)
Fixpoint add_step (t c : Z) (l : steps) : steps :=
  match l with
  | [] => [(t, c)]
  | e :: l => if (fst e <=? t) && (snd e <=? c) then e :: l
              else if fst e <? t then e :: add_step t c l
              else (t, c) :: filter (fun e => snd e <? c) (e :: l)
  end.
Fixpoint update {A} (l : list A) (v : nat) (f : A -> A) : list A :=
  match l, v with [], _ => [] | x :: l, O => f x :: l | x :: l, S v => x :: update l v f end.
Definition relax_hop (u : nat) (table : list steps) (h : list nat) : list steps :=
  let from := nth u table [] in let v := far j u h in
  fold_left (fun table x =>
    let t := x + lasts b h in let c := cost_at big from x + pays_from share b h x in
    if (t <=? T) && (c <? cost_at big (nth v table []) t) then update table v (add_step t c) else table) (starts_of share b from u h) table.
Fixpoint same_steps (a b : steps) : bool :=
  match a, b with [], [] => true | x :: a, y :: b => (fst x =? fst y) && (snd x =? snd y) && same_steps a b | _, _ => false end.
Fixpoint same_tables (a b : list steps) : bool :=
  match a, b with [], [] => true | x :: a, y :: b => same_steps x y && same_tables a b | _, _ => false end.
Definition find_table (hs : list (list (list nat))) (holders : list nat) : list steps :=
  until_still same_tables
    (fun table => fold_left (fun table u => fold_left (relax_hop u) (nth u hs []) table) (seq 0 (nodes j)) table) (S (nodes j))
    (fold_left (fun table u => update table u (add_step 0 0)) holders (repeat [] (nodes j))).
End Find.

(** ** The rule *)

(** A contribution that a rank needs of each chunk of a group, and its share by link; and the group. *)
Record demand := Demand { source : nat; dest : nat; shares : list tariff }.
Record group := Group { group_chunks : list nat; group_demands : list demand }.
Definition share_of (d : demand) (i : nat) : tariff := nth i (shares d) [].

Definition holders_of_chunk (k c : nat) : list nat :=
  map (fun e => fst (fst e)) (filter (fun e => containsb (snd e) c) (said_of k (pre j))).
Definition needed (k : nat) (d : demand) : bool :=
  existsb (fun e => (fst (fst e) =? dest d)%nat && containsb (snd e) (source d)) (said_of k (post j)).
Definition least_cost (hs : list (list (list nat))) (T : Z) (d : demand) (of : Z * list nat) : Z :=
  let big := supply + 1 in
  let table := find_table (share_of d) (fst of) T big hs (snd of) in
  if table_ok (share_of d) (fst of) T big hs table (snd of) then cost_at big (nth (dest d) table []) T else 0.
(** Chunks of one size with the same holders have the same ways. *)
Definition of_chunk_dec (a b : Z * list nat) : {a = b} + {a <> b}.
Proof. repeat decide equality. Defined.
Definition look {A B} (dec : forall a b : A, {a = b} + {a <> b}) (f : A -> B) (known : list (A * B)) (a : A) : B :=
  match find (fun e => if dec (fst e) a then true else false) known with Some e => snd e | None => f a end.
Definition of_chunk (d : demand) (k : nat) : Z * list nat := (size j k, holders_of_chunk k (source d)).
Definition demand_costs (hs : list (list (list nat))) (T : Z) (ks : list nat) (d : demand) : Z :=
  let known := map (fun a => (a, least_cost hs T d a)) (nodup of_chunk_dec (map (of_chunk d) ks)) in
  sum (fun k => if needed k d then look of_chunk_dec (least_cost hs T d) known (of_chunk d k) else 0) ks.
Definition shared_out (g : group) : bool :=
  forallb (fun i => let all := flat_map (fun d => share_of d i) (group_demands g) in let price := price_of_link i in
    paying all && forallb (fun e => at_instant all (fst e) <=? at_instant price (fst e)) all) (seq 0 (length (links j))).
Fixpoint once (l : list nat) : bool := match l with [] => true | x :: l => negb (existsb (Nat.eqb x) l) && once l end.
(** The demands cost more than there is, even if all is done by T. *)
Definition short_of (groups : list group) (T : Z) : bool :=
  match find_hops with
  | None => false
  | Some hs =>
      forallb (fun g => paying (asked g)) goods && forallb shared_out groups && once (flat_map group_chunks groups) &&
      forallb (fun g => forallb (fun d => (length (shares d) <=? length (links j))%nat) (group_demands g)) groups &&
      (supply <? sum (fun g => sum (demand_costs hs T (group_chunks g)) (group_demands g)) groups)
  end.
End Job.

Lemma look_is {A B} (dec : forall a b : A, {a = b} + {a <> b}) (f : A -> B) l a : look dec f (map (fun a => (a, f a)) l) a = f a.
Proof.
  unfold look. destruct (find _ _) as [e|] eqn:E; [|reflexivity]. apply find_some in E. destruct E as [I E].
  apply in_map_iff in I. destruct I as [x [<- _]]. cbn [fst snd] in *. destruct (dec x a); [subst; reflexivity|discriminate].
Qed.
Lemma once_NoDup l : once l = true -> NoDup l.
Proof.
  induction l as [|x l IH]; cbn [once]; [constructor|]. rewrite andb_true_iff, negb_true_iff. intros [A B]. constructor; auto.
  intros Hx. assert (existsb (Nat.eqb x) l = true); [|congruence]. apply existsb_exists. exists x. rewrite Nat.eqb_refl. auto.
Qed.

(** ** What occupies links *)

Section Sold.
Variable j : job.
Variable net : network.
Hypothesis sane : positive j.
Variable sch : list sent.
Hypothesis good_sch : loose j net (uses_of j) sch.

Definition occupied_by (k i : nat) (x : Z) : bool :=
  existsb (fun t => (what (tr (data t)) =? k)%nat && existsb (fun a : use => (fst a =? i)%nat && inside (snd a) x) (uses_of j t)) sch.
Lemma occupied_spec k i x : occupied_by k i x = true <->
  exists t a, In t sch /\ what (tr (data t)) = k /\ In a (uses_of j t) /\ fst a = i /\ inside (snd a) x = true.
Proof.
  unfold occupied_by. rewrite existsb_exists. split.
  - intros [t [Ht H]]. apply andb_true_iff in H. destruct H as [A B]. apply Nat.eqb_eq in A. apply existsb_exists in B.
    destruct B as [a [Ha B]]. apply andb_true_iff in B. rewrite Nat.eqb_eq in B. exists t, a. tauto.
  - intros [t [a [Ht [A [Ha [B C]]]]]]. exists t. split; auto. apply andb_true_iff. split; [apply Nat.eqb_eq, A|].
    apply existsb_exists. exists a. split; auto. apply andb_true_iff. split; [apply Nat.eqb_eq, B|exact C].
Qed.
Lemma one_chunk_at k k' i x : occupied_by k i x = true -> occupied_by k' i x = true -> k = k'.
Proof.
  rewrite !occupied_spec. intros [t [a [Ht [<- [Ha [Ea Ia]]]]]] [t' [a' [Ht' [<- [Ha' [Ea' Ia']]]]]].
  assert (Q : forall s s' : sent, {s = s'} + {s <> s'}) by (repeat decide equality). destruct (Q t t') as [->|Ne]; auto.
  destruct (are_apart _ _ _ _ good_sch t t' a a' Ht Ht' Ne Ha Ha') as [A|[S _]]; [congruence| |exact S].
  exfalso. unfold inside, apart in *. rewrite !andb_true_iff, !Z.leb_le, !Z.ltb_lt in *. lia.
Qed.
Definition busy_of (ls : list nat) (x : Z) : list nat := nodup Nat.eq_dec (map fst (filter (uses_at ls x) (uses j sch))).
Lemma is_busy_of ls k i x : In i ls -> occupied_by k i x = true -> In i (busy_of ls x).
Proof.
  rewrite occupied_spec. intros Hi [t [a [Ht [_ [Ha [<- Ia]]]]]]. apply nodup_In, in_map, filter_In. split; [apply in_flat_map; eauto|].
  unfold uses_at, inside in *. rewrite <- andb_assoc, Ia, andb_true_r. apply existsb_exists. exists (fst a). split; auto. apply Nat.eqb_refl.
Qed.
End Sold.

Theorem short_sound j net goods groups T sch : positive j -> loose j net (uses_of j) sch ->
  (forall t, In t sch -> NoDup (visited j (src (tr (data t))) (route t))) -> makespan sch <= T ->
  (forall g, In g goods -> forall x, (busy_links (over_links g) x (uses j sch) <= places g)%nat) ->
  short_of j goods groups T = false.
Proof.
  intros Hp Hr Twice HT Sold. apply not_true_iff_false. unfold short_of. destruct (find_hops j) as [hs|] eqn:Eh; [|discriminate]. intros H.
  apply andb_true_iff in H. destruct H as [H Lt]. apply andb_true_iff in H. destruct H as [H Len]. apply andb_true_iff in H.
  destruct H as [H On].
  apply andb_true_iff in H. destruct H as [Fair Sh]. rewrite forallb_forall in Fair, Sh, Len. apply Z.ltb_lt in Lt. apply once_NoDup in On.
  enough (sum (fun g => sum (demand_costs j goods hs T (group_chunks g)) (group_demands g)) groups <= supply goods) by lia. clear Lt.
  set (occ := occupied_by j sch).
  eapply Z.le_trans; [|apply (all_pay j goods Fair occ (one_chunk_at j net sch Hr) (busy_of j sch) (is_busy_of j sch) (flat_map group_chunks groups) On Sold)].
  (* what the demands of a group pay for a chunk *)
  assert (Chunk : forall g, In g groups -> forall k, sum (fun d => if needed j k d then least_cost j goods hs T d (of_chunk j d k) else 0) (group_demands g) <=
    chunk_pays j goods occ k).
  { intros g Hg k. specialize (Sh g Hg). unfold shared_out in Sh. rewrite forallb_forall in Sh. specialize (Len g Hg).
  rewrite forallb_forall in Len.
    assert (Shr : forall i, paying (flat_map (fun d => share_of d i) (group_demands g)) = true /\
      forall f, costs_when (flat_map (fun d => share_of d i) (group_demands g)) f <= costs_when (price_of_link goods i) f).
    { intros i. destruct (Nat.lt_ge_cases i (length (links j))) as [Hi|Hi].
      - specialize (Sh i ltac:(apply in_seq; lia)). apply andb_true_iff in Sh. destruct Sh as [A B]. split; auto. intros f.
        apply costs_less; [apply price_paying, Fair|].
        rewrite forallb_forall in B. intros x Hx. apply in_map_iff in Hx. destruct Hx as [e [<- He]]. apply Z.leb_le, B, He.
      - replace (flat_map (fun d => share_of d i) (group_demands g)) with (@nil (Z * Z)).
        + split; [reflexivity|]. intros f. apply (costs_when_0 _ f (price_paying goods Fair i)).
        + clear - Len Hi. induction (group_demands g) as [|d ds IH]; [reflexivity|]. cbn [flat_map].
          rewrite <- IH by (intros x Hx; apply Len; right; auto).
          specialize (Len d (or_introl eq_refl)). apply Nat.leb_le in Len. unfold share_of. rewrite nth_overflow by lia. reflexivity. }
    assert (Pd : forall d, In d (group_demands g) -> forall i, paying (share_of d i) = true).
    { intros d Hd i. destruct (Shr i) as [A _]. unfold paying in *. rewrite forallb_forall in *. intros e He. apply A.
    apply in_flat_map. eauto. }
    apply Z.le_trans with (sum (fun d => sum (fun i => costs_when (share_of d i) (occ k i)) (seq 0 (length (links j)))) (group_demands g)).
    - apply sum_le. intros d Hd. specialize (Pd d Hd).
      assert (T0 : 0 <= sum (fun i => costs_when (share_of d i) (occ k i)) (seq 0 (length (links j)))) by (apply sum_pos;
      intros i _; apply costs_when_0, Pd).
      destruct (needed j k d) eqn:En; [|exact T0]. unfold least_cost, of_chunk. cbn [fst snd].
      set (table := find_table j (share_of d) (size j k) T (supply goods + 1) hs (holders_of_chunk j k (source d))).
      destruct (table_ok _ _ _ _ _ _ _ _) eqn:Ok; [|exact T0].
      unfold needed in En. apply existsb_exists in En. destruct En as [[[v k'] w] [Hin En]]. apply filter_In in Hin.
      destruct Hin as [Hin Ek].
      cbn [fst snd] in *. apply Nat.eqb_eq in Ek. subst k'. apply andb_true_iff in En. destruct En as [Ev Ec].
      apply Nat.eqb_eq in Ev. subst v.
      apply Nat.ltb_lt in Ec. pose proof (bring _ _ _ _ Hr _ _ _ _ Hin Ec) as Hh. apply (holds_later _ _ _ _ _ _ T) in Hh; [|exact HT].
      assert (Occ : forall t a x, In t sch -> In a (uses_of j t) -> inside (snd a) x = true -> occ (what (tr (data t))) (fst a) x = true).
      { intros t a x Ht Ha Hx. apply occupied_spec. exists t, a. auto. }
      pose proof (demand_pays j Hp occ (share_of d) Pd (size j k) (sane_size j Hp k) T (supply goods + 1) hs Eh net sch Hr Twice k eq_refl Occ table (source d) _ (dest d) T Ok) as P.
      eapply Z.le_trans; [apply P; auto; [|lia]|].
      + intros u x Hx Hc. unfold holders_of_chunk. apply in_map_iff. exists ((u, k), x). split; [reflexivity|]. apply filter_In. split.
        * apply filter_In. split; auto. apply Nat.eqb_refl.
        * apply Nat.ltb_lt, Hc.
      + apply sum_le. intros i _. apply costs_more; [apply Pd|]. intros x Hx. apply andb_true_iff in Hx. apply Hx.
    - rewrite sum_swap. apply sum_le. intros i _. rewrite <- costs_flat. apply (Shr i). }
  apply Z.le_trans with (sum (fun g => sum (chunk_pays j goods occ) (group_chunks g)) groups).
  - apply sum_le. intros g Hg. unfold demand_costs. rewrite sum_swap. apply sum_le. intros k _.
    eapply Z.le_trans; [|apply (Chunk g Hg k)]. apply sum_le. intros d _. destruct (needed j k d); [|lia]. rewrite look_is. lia.
  - rewrite sum_flat_map. lia.
Qed.

(** Prices of links and of ports. *)
Definition sold (j : job) (of_links of_ports : list (nat * tariff)) : list good :=
  map (fun e => Good [fst e] 1 (snd e)) of_links ++
  map (fun e => let port := nth (fst e) (ports j) ([], 0%nat) in Good (fst port) (snd port) (snd e)) of_ports.
Lemma sold_holds j us of_links of_ports : ports_once (ports j) us ->
  forall g, In g (sold j of_links of_ports) -> forall x, (busy_links (over_links g) x us <= places g)%nat.
Proof.
  intros P g Hg x. apply in_app_or in Hg. destruct Hg as [Hg|Hg]; apply in_map_iff in Hg;
  destruct Hg as [e [<- _]]; cbn [over_links places].
  - apply (NoDup_incl_length (l := nodup Nat.eq_dec _) (l' := [fst e]) (NoDup_nodup _ _)). intros i Hi. apply nodup_In, in_map_iff in Hi. destruct Hi as [a [<- Ha]].
    apply filter_In in Ha. destruct Ha as [_ Ha]. unfold uses_at in Ha. cbn [existsb] in Ha. rewrite !andb_true_iff, orb_false_r, Nat.eqb_eq in Ha. left. symmetry. apply Ha.
  - destruct (nth_in_or_default (fst e) (ports j) ([], 0%nat)) as [I| ->].
    + destruct (nth (fst e) (ports j) ([], 0%nat)) as [ls c]. apply (P ls c I).
    + cbn [fst snd]. unfold busy_links. replace (filter (uses_at [] x) us) with (@nil use); [cbn; lia|]. symmetry. clear.
      induction us as [|a us IH]; [reflexivity|exact IH].
Qed.
Lemma within_once ps us : (forall ls c, In (ls, c) ps -> forall x, (length (filter (uses_at ls x) us) <= c)%nat) -> ports_once ps us.
Proof.
  intros H ls c Hp x. eapply Nat.le_trans; [|apply (H ls c Hp x)]. unfold busy_links.
  replace (length (filter (uses_at ls x) us)) with (length (map fst (filter (uses_at ls x) us))) by apply map_length.
  apply NoDup_incl_length; [apply NoDup_nodup|]. intros i Hi. apply nodup_In in Hi. exact Hi.
Qed.

Definition dual_rule (j : job) (of_links of_ports : list (nat * tariff)) (groups : list group) (bound : Z) : bool :=
  short_of j (sold j of_links of_ports) groups (bound - 1).
Theorem loose_dual_sound j net of_links of_ports groups bound sch : positive j ->
  dual_rule j of_links of_ports groups bound = true -> loose j net (uses_of j) sch ->
  (forall t, In t sch -> NoDup (visited j (src (tr (data t))) (route t))) -> ports_once (ports j) (uses j sch) -> bound <= makespan sch.
Proof.
  intros Hp H Hr Hn P. apply Z.nlt_ge. intros Lt. unfold dual_rule in H.
  pose proof (short_sound j net _ groups (bound - 1) sch Hp Hr Hn ltac:(lia) (sold_holds j _ of_links of_ports P)). congruence.
Qed.
Corollary dual_sound j of_links of_ports groups bound sch : positive j ->
  dual_rule j of_links of_ports groups bound = true -> right j sch -> bound <= makespan sch.
Proof.
  intros Hp H Hr. pose proof Hr as [W [_ [P _]]].
  apply (loose_dual_sound j plain of_links of_ports groups bound sch Hp H (right_loose j plain sch Hr)); [|apply within_once, P].
  intros t Ht. apply (W t Ht).
Qed.
(** Where switches copy. *)
Corollary copying_dual_sound j net of_links of_ports groups bound sch : positive j ->
  dual_rule j of_links of_ports groups bound = true -> right_copying j (copying net) sch -> bound <= makespan sch.
Proof.
  intros Hp H Hr. pose proof Hr as [W [_ [P _]]].
  apply (loose_dual_sound j net of_links of_ports groups bound sch Hp H (copying_loose j net sch Hr)); [|exact P].
  intros t Ht. apply (W t Ht).
Qed.

(** Under rounds that a rank sends once and receives once are ports, too, and have prices. *)
Lemma holds_ported j by_link ts c v k x : holds j ts c v k x -> holds (ported j by_link) ts c v k x.
Proof. induction 1 as [v k x w Hl Hc Hx|t x Ht _ IH Hx]; [apply (holds_start (ported j by_link) ts c v k x w); auto|apply holds_sent; auto]. Qed.
Lemma there_ported j by_link ts v k x : there j ts v k x -> there (ported j by_link) ts v k x.
Proof. induction 1 as [v k x w Hl Hx|t x Ht _ IH Hx]; [apply (there_start (ported j by_link) ts v k x w); auto|apply there_sent; auto]. Qed.
Theorem stepwise_dual j net by_link of_links of_ports groups bound sch : positive j -> full_sizes j = true ->
  dual_rule (ported j by_link) of_links of_ports groups bound = true -> stepwise j net sch ->
  (forall t, In t sch -> NoDup (visited j (src (tr (data t))) (route t))) -> ports_once (ports (ported j by_link)) (round_uses sch) ->
  bound <= round_makespan j sch.
Proof.
  intros Hp Hf H St Hn P. unfold full_sizes in Hf. rewrite forallb_forall in Hf.
  assert (F : forall b, In b (sizes j) -> 0 < b) by (intros b Hb; apply Z.ltb_lt, Hf, Hb).
  destruct (stepwise_loose j net Hp F sch St) as [L M]. eapply Z.le_trans; [|exact M].
  assert (L' : loose (ported j by_link) net (uses_of (ported j by_link)) (in_time j sch)) by (destruct L as [A1 A2 A3 A4 A5 A6 A7 A0 A8 A9]; exact (Build_loose (ported j by_link) net _ _ A1 A2 A3 A4 A5 A6 A7
      (fun t Ht => there_ported j by_link _ _ _ _ (A0 t Ht)) (fun v k w c I C => holds_ported j by_link _ _ _ _ _ (A8 v k w c I C)) A9)).
  apply (loose_dual_sound (ported j by_link) net of_links of_ports groups bound (in_time j sch) Hp H L').
  - intros t Ht. apply in_map_iff in Ht. destruct Ht as [s [<- Hs]]. apply (Hn s Hs).
  - apply (once_in_time j net Hp F sch St), P.
Qed.
Corollary dual_in_rounds j by_link of_links of_ports groups bound sch : positive j -> full_sizes j = true ->
  dual_rule (ported j by_link) of_links of_ports groups bound = true -> right_in_rounds j by_link sch -> bound <= round_makespan j sch.
Proof.
  intros Hp Hf H Hr. pose proof Hr as [W [_ [P _]]].
  apply (stepwise_dual j plain by_link of_links of_ports groups bound sch Hp Hf H (right_steps j plain by_link sch Hr)); [|apply within_once, P].
  intros t Ht. destruct (W t Ht) as [_ [_ [N _]]]. exact N.
Qed.
Corollary copying_dual_in_rounds j net by_link of_links of_ports groups bound sch : positive j -> full_sizes j = true ->
  dual_rule (ported j by_link) of_links of_ports groups bound = true -> right_copying_rounds j (copying net) by_link sch -> bound <= round_makespan j sch.
Proof.
  intros Hp Hf H Hr. pose proof Hr as [W [_ [P _]]].
  apply (stepwise_dual j net by_link of_links of_ports groups bound sch Hp Hf H (copying_steps j net by_link sch Hr)); [|exact P].
  intros t Ht. destruct (W t Ht) as [_ [_ [N _]]]. exact N.
Qed.
